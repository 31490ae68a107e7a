"""The one source of the manifests: the kustomize tree and the Helm chart are both generated from it.

python -m deploy.kubernetes.source        writes all files anew

Objects are plain dicts. Where the chart's user has a say stands a marker (`markers.py`), and kustomize gets
its default.
"""
