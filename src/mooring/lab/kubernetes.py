"""The Kubernetes control plane: etcd, API server, controller manager, scheduler, cluster DNS; all with TLS and RBAC."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mooring.host import certificates
from mooring.lab import spec as ranges
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.place import DATA
from mooring.lab.spec import Spec
from mooring.lab.templates import text, write

MOORING_KUBECONFIG = "mooring.kubeconfig"
ACCOUNT_LIFE = "720h"
SERVER_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
)


def parts(spec: Spec) -> list[Part]:
    """The control plane needs nothing of OpenStack; DNS needs a node."""
    kubelets = tuple(f"kubelet-{node}" for node in spec.node_names)
    proxies = tuple(f"kube-proxy-{node}" for node in spec.node_names)
    return [
        Part("etcd", start_etcd, needs=("cables", "certificates", "kubernetes-binaries"), group="kubernetes"),
        Part("kube-apiserver", start_apiserver, needs=("etcd",), group="kubernetes"),
        Part("kube-controller-manager", start_controller_manager, needs=("kube-apiserver",), group="kubernetes"),
        Part("kube-scheduler", start_scheduler, needs=("kube-apiserver",), group="kubernetes"),
        Part("accounts", make_accounts, needs=("kube-apiserver",), group="kubernetes", process=False),
        Part(
            "dns",
            start_dns,
            needs=("kube-controller-manager", "kube-scheduler", *kubelets, *proxies),
            group="kubernetes",
            process=False,
        ),
    ]


def start_etcd(lab: Lab) -> None:
    """The store; without fsync, as it is thrown away with the lab."""
    pair = lab.authority.issue("etcd", "etcd", addresses=["127.0.0.1"], names=["localhost"])
    client, peer = "https://127.0.0.1:2379", "https://127.0.0.1:2380"
    tls = [
        f"--{prefix}{flag}"
        for prefix in ("", "peer-")
        for flag in (
            f"cert-file={pair.certificate}",
            f"key-file={pair.key}",
            f"trusted-ca-file={lab.authority.certificate}",
            "client-cert-auth",
        )
    ]
    lab.spawn(
        "etcd",
        [
            lab.program("etcd"),
            f"--data-dir={lab.place.data / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            *tls,
        ],
        host="control",
    )
    us: list[str | Path] = ["--cacert", lab.authority.certificate, "--cert", pair.certificate, "--key", pair.key]
    lab.wait("etcd", lambda: lab.answers_in("control", f"{client}/health", *us), seconds=30, what="etcd to be healthy")


def start_apiserver(lab: Lab) -> None:
    """The API server with an audit log of what everybody but the system itself did."""
    place, authority = lab.place, lab.authority
    server = authority.issue(
        "kube-apiserver", "kube-apiserver", addresses=[lab.control, "127.0.0.1", ranges.API_SERVICE], names=SERVER_NAMES
    )
    to_etcd = authority.issue("apiserver-etcd", "kube-apiserver")
    to_kubelet = authority.issue("apiserver-kubelet", "kube-apiserver-kubelet-client", groups=["system:masters"])
    certificates.write_signing_key(place.pki / "service-accounts.key")
    lab.spawn(
        "kube-apiserver",
        [
            lab.program("kube-apiserver"),
            "--etcd-servers=https://127.0.0.1:2379",
            f"--etcd-cafile={authority.certificate}",
            f"--etcd-certfile={to_etcd.certificate}",
            f"--etcd-keyfile={to_etcd.key}",
            f"--advertise-address={lab.control}",
            f"--tls-cert-file={server.certificate}",
            f"--tls-private-key-file={server.key}",
            f"--client-ca-file={authority.certificate}",
            f"--kubelet-certificate-authority={authority.certificate}",
            f"--kubelet-client-certificate={to_kubelet.certificate}",
            f"--kubelet-client-key={to_kubelet.key}",
            "--kubelet-preferred-address-types=InternalIP",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={place.pki / 'service-accounts.key'}",
            f"--service-account-signing-key-file={place.pki / 'service-accounts.key'}",
            f"--service-cluster-ip-range={ranges.SERVICES_V4},{ranges.SERVICES_V6}",
            f"--audit-policy-file={DATA / 'kubernetes/audit.yaml'}",
            f"--audit-log-path={place.log / 'audit.log'}",
            "--audit-log-maxsize=100",
            "--audit-log-maxbackup=1",
        ],
        host="control",
    )
    write_kubeconfig(lab, "kubeconfig", "admin", groups=["system:masters"])
    # who is nobody is refused until the roles are there; others would be refused as well, and end
    ready = (f"https://{lab.control}:6443/readyz", "--cacert", authority.certificate)
    lab.wait(
        "kube-apiserver",
        lambda: lab.answers_in("control", *ready),
        seconds=90,
        what="the API server to be ready",
    )


def start_controller_manager(lab: Lab) -> None:
    """Each controller with an account of its own."""
    kubeconfig = write_kubeconfig(lab, "controller-manager.kubeconfig", "system:kube-controller-manager")
    lab.spawn(
        "kube-controller-manager",
        [
            lab.program("kube-controller-manager"),
            f"--kubeconfig={kubeconfig}",
            f"--service-account-private-key-file={lab.place.pki / 'service-accounts.key'}",
            f"--root-ca-file={lab.authority.certificate}",
            "--use-service-account-credentials=true",
            f"--service-cluster-ip-range={ranges.SERVICES_V4},{ranges.SERVICES_V6}",
            f"--cluster-cidr={ranges.PODS_V4},{ranges.PODS_V6}",
            "--allocate-node-cidrs=false",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ],
        host="control",
    )
    lab.wait(
        "kube-controller-manager",
        lambda: _exists(lab, "serviceaccount/default"),
        seconds=60,
        what="the default service account",
    )


def start_scheduler(lab: Lab) -> None:
    """The scheduler."""
    part, kubeconfig = "kube-scheduler", write_kubeconfig(lab, "scheduler.kubeconfig", "system:kube-scheduler")
    options = [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1"]
    lab.spawn(part, [lab.program(part), *options], host="control")
    health = ("https://127.0.0.1:10259/healthz", "--insecure")  # it signs a certificate for itself
    lab.wait(part, lambda: lab.answers_in("control", *health), seconds=30, what="the scheduler to be healthy")


def make_accounts(lab: Lab) -> None:
    """kube-proxy, which runs outside of pods here, gets its role, and Mooring's daemons an account without any yet."""
    binding = ("clusterrolebinding", "lab:kube-proxy", "--clusterrole=system:node-proxier", "--user=system:kube-proxy")
    lab.kubectl("create", *binding)
    give_account(lab)


def give_account(lab: Lab) -> None:
    """Mooring's daemons get an account, and a kubeconfig for it; anew, if its namespace was deleted."""
    lab.kubectl("apply", "--filename=-", stdin=text("kubernetes/mooring.yaml", {}))
    token = lab.place.pki / "mooring.token"
    token.touch(mode=0o600)
    token.write_text(
        lab.kubectl("create", "token", "mooring", "--namespace=mooring-system", f"--duration={ACCOUNT_LIFE}")
    )
    _write_kubeconfig(lab, MOORING_KUBECONFIG, {"tokenFile": token})


def start_dns(lab: Lab) -> None:
    """Cluster DNS, as pods."""
    lab.kubectl("apply", "-f", "-", stdin=text("kubernetes/coredns.yaml", {"DNS": ranges.DNS_SERVICE}))
    lab.kubectl("--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s")


def write_kubeconfig(lab: Lab, file: str, user: str, *, groups: Sequence[str] = ()) -> str:
    """Credentials of a user, by certificate; returns the file's path."""
    pair = lab.authority.issue(file.removesuffix(".kubeconfig"), user, groups=groups)
    return _write_kubeconfig(lab, file, {"client-certificate": pair.certificate, "client-key": pair.key})


def _write_kubeconfig(lab: Lab, file: str, credentials: Mapping[str, Path]) -> str:
    user = json.dumps({key: str(value) for key, value in credentials.items()})  # which is YAML too
    values = {"SERVER": lab.control, "CA": lab.authority.certificate, "CREDENTIALS": user}
    return str(write("kubernetes/kubeconfig.yaml", lab.place.etc / file, values))


def _exists(lab: Lab, thing: str) -> bool:
    try:
        lab.kubectl("get", thing)
    except CommandError:
        return False
    return True
