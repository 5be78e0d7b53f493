"""What a person needs to know once everything is Ready."""

from __future__ import annotations

from deploy.corefile import ZONE, stub
from deploy.kubectl import Kubectl
from deploy.lanes import ROLE
from deploy.target import Target


def report(kubectl: Kubectl, target: Target, serving: str) -> str:
    """Addresses, and where the tokens are; on another's cluster also what its DNS needs."""
    dns = address(kubectl, "switchyard-dns", "split-dns")
    lines = [
        f"The {serving} lane serves.",
        f"  clients     http://{ZONE}/ (in the cluster)",
        f"  chat page   http://{address(kubectl, 'switchyard', ROLE)}/",
        f"  tickets     http://{address(kubectl, 'switchyard', f'tickets-{serving}')}:8080/",
        f"  releases    http://{address(kubectl, 'switchyard-rollout', 'rollout')}/status",
        f"  split DNS   {dns}",
        "  tokens      " + _read("switchyard-clients", "demo-tokens", "c-1002"),
        "  staff       user `staff`, "
        + _read("switchyard-data", "data-credentials", "staff-token"),
    ]
    return "\n".join(lines if target.local else [*lines, "", dns_advice(dns)])


def address(kubectl: Kubectl, namespace: str, name: str) -> str:
    """The cluster address of a Service; `none` while it is not there."""
    service = kubectl.get("service", name, namespace)
    return str(service["spec"]["clusterIP"]) if service else "none"


def dns_advice(dns: str) -> str:
    """What the admin adds to the cluster's DNS, or a client to its pod, to see the split."""
    return f"""\
This cluster's DNS was not touched. Either add this block to its CoreDNS (uncached, so
that every lookup draws anew):

{stub(dns)}
or let a client's pod ask the split DNS, which hands every other name on to the
cluster's DNS; the pod's namespace needs the label switchyard/client=true:

spec:
  dnsPolicy: None
  dnsConfig:
    nameservers: [{dns}]
    searches: [NAMESPACE.svc.cluster.local, svc.cluster.local, cluster.local]
    options: [{{name: ndots, value: "2"}}]
"""


def _read(namespace: str, secret: str, key: str) -> str:
    path = f"jsonpath={{.data.{key}}}"
    return f"kubectl -n {namespace} get secret {secret} -o {path} | base64 -d"
