"""What RBAC cannot say: its own node only, of that its own conditions only, and its own events only.

The name of the node is in the token that the kubelet asks for, bound to the pod. A request that a policy
cannot judge is refused. A policy sees the request and nothing else of the cluster: that the pod of an event
runs on the recorder's node it cannot check.
"""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.metadata import metadata
from deploy.kubernetes.source.values import NAME
from necroscope.kubernetes.event_rules import event_rules

GROUP = "admissionregistration.k8s.io"
DOMAIN = "necroscope.dev"
COMPONENT = f"{DOMAIN}/recorder"
NODE_POLICY, EVENT_POLICY = f"{NAME}-own-node", f"{NAME}-own-events"

# In any namespace, with anything before or behind the name: kustomize changes these in an account, and not in
# here. A policy that no longer fits would let everything through.
ACCOUNT = f"request.userInfo.username.matches('^system:serviceaccount:[^:]+:[^:]*{NAME}')"
NODE = "request.userInfo.extra[?'authentication.kubernetes.io/node-name'][0].orValue('')"
# What the API server itself changes with every request.
BOOKKEEPING = "['generation', 'managedFields', 'resourceVersion']"
FOREIGN = f"filter(c, !c.type.startsWith('{DOMAIN}/'))"


def _same(part: str, but: str) -> str:
    """All entries of a mapping are as they were but those named; none is new and none has gone."""
    new, old = f"dyn(object.{part})", f"dyn(oldObject.{part})"
    return (
        f"{new}.all(key, key in {but} || (key in {old} && {new}[key] == {old}[key])) && "
        f"{old}.all(key, key in {but} || key in {new})"
    )


def _conditions(of: str) -> str:
    return f"{of}.status.?conditions.orValue([]).{FOREIGN}"


NODE_VALIDATIONS = (
    {
        "expression": "variables.node != '' && variables.node == object.metadata.name",
        "messageExpression": (
            "'necroscope may change the status of the node that it runs on only, and of ' +"
            " object.metadata.name + ' it does not: its token is of ' +"
            " (variables.node == '' ? 'no node' : variables.node)"
        ),
        "message": "necroscope may change the status of the node that it runs on only",
    },
    {
        "expression": f"{_conditions('object')} == {_conditions('oldObject')}",
        "message": f"necroscope may change conditions below {DOMAIN}/ only",
    },
    {
        "expression": _same("status", "['conditions']"),
        "message": "necroscope may change the conditions in a node's status, and nothing else in it",
    },
    {
        # The API server takes labels and annotations along with a status.
        "expression": _same("metadata", BOOKKEEPING),
        "message": "necroscope may not change the labels, annotations or other metadata of a node",
    },
)


def _is_own_event(of: str) -> str:
    return (
        f"{of}.?reportingComponent.orValue('') == '{COMPONENT}' && {of}.?source.?component.orValue('') =="
        f" '{COMPONENT}' && {of}.?source.?host.orValue('') == variables.node"
        f" && {of}.?reportingInstance.orValue('') == variables.node"
    )


def _reasons(*, of_pods: bool) -> list[str]:
    return sorted(rule.reason for rule in event_rules().values() if rule.tells_pods or not of_pods)


EVENT_VALIDATIONS = (
    {
        "expression": (
            f"variables.node != '' && {_is_own_event('object')}"
            f" && (request.operation == 'CREATE' || ({_is_own_event('oldObject')}))"
        ),
        "message": f"necroscope may write events of {COMPONENT} on its own node only",
    },
    {
        "expression": (
            "request.operation == 'CREATE' || "
            "object.involvedObject == oldObject.involvedObject && object.reason == oldObject.reason"
        ),
        "message": "necroscope may not change what an event is about",
    },
    {
        "expression": (
            "object.involvedObject.kind in ['Node', 'Pod'] && "
            "object.involvedObject.?apiVersion.orValue('') == 'v1' && !has(object.related)"
        ),
        "message": "necroscope may write events about its node and about pods, and about nothing else",
    },
    {
        "expression": "object.involvedObject.kind != 'Node' || object.involvedObject.name == variables.node",
        "message": "necroscope may write events about the node that it runs on only, and about no other node",
    },
    {
        # On which node a pod runs cannot be asked here. Its uid is known on that node, and is no secret.
        "expression": "object.involvedObject.kind != 'Pod' || object.involvedObject.?uid.orValue('') != ''",
        "message": "necroscope may write events about a pod only with its uid",
    },
    {
        "expression": (
            f"object.reason in (object.involvedObject.kind == 'Pod' ? {_reasons(of_pods=True)}"
            f" : {_reasons(of_pods=False)})"
        ),
        "message": "necroscope may write events with the reasons that it knows only",
    },
)


def _policy(
    name: str, resource: str, operations: list[str], validations: tuple[dict[str, str], ...]
) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": [resource]}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(name, cluster_wide=True),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "by-the-recorder", "expression": ACCOUNT}],
            "variables": [{"name": "node", "expression": NODE}],
            "validations": [dict(one) for one in validations],
        },
    }


def _binding(name: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(name, cluster_wide=True),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def policies() -> list[dict[str, Any]]:
    """Both policies, each with what puts it into force."""
    return [
        _policy(NODE_POLICY, "nodes/status", ["UPDATE"], NODE_VALIDATIONS),
        _binding(NODE_POLICY),
        _policy(EVENT_POLICY, "events", ["CREATE", "UPDATE"], EVENT_VALIDATIONS),
        _binding(EVENT_POLICY),
    ]
