"""A real single-node Kubernetes on a bare Debian machine, for development and tests.

Everything runs inside one network namespace, one private mount namespace and
one control group per cluster, so that taking it down is complete by
construction: kill what is in the group, delete the namespace, remove the
folder. The host keeps one interface and three routes while the cluster is up.

NetworkPolicies: the node sends every new connection from or to a pod to NFQUEUE
98 (see `network`), where it gets nowhere without a listener; probes pass. The
listener is the pod of `deploy/components/local`: the binary of `python -m
deploy.cluster build network-policies` as root with NET_ADMIN, on the host network.
"""
