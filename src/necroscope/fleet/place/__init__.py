"""The fleet's place: an object store, be it a folder or S3.

    hosts/HOST/inbox/NAME-SHA.json   what a host has told: small documents, until they are in the tables
    hosts/HOST/blobs/SHA256          sections of facts and files of segments, named by their content
    hosts/HOST/requests/NAME.json    what a host is asked to send
    clusters/CLUSTER/...             jobs of a Ray cluster (`fleet jobs --keep`), in an inbox as well
    index.json, tables/...           made of all inboxes by `necroscope fleet ingest`

A host writes below its own prefix alone, so that its credentials can be limited to that.
"""
