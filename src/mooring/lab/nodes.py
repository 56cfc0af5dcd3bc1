"""The worker nodes: containerd, kubelet and kube-proxy in a host that is also an OVN chassis, with a leg in OVN."""

from functools import partial
from pathlib import Path

from mooring.lab import network, processes, topology
from mooring.lab import spec as ranges
from mooring.lab.assets import images
from mooring.lab.errors import CommandError
from mooring.lab.kubernetes import write_kubeconfig
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.spec import Spec
from mooring.lab.templates import write


def parts(spec: Spec) -> list[Part]:
    """Kubernetes' processes of each node, and its leg in OVN."""
    made = []
    for node in spec.node_names:
        made += [
            Part(
                f"containerd-{node}",
                partial(start_containerd, node=node),
                needs=("cables", "debian-packages", "images"),
                group="kubernetes",
                shared=True,
            ),
            Part(
                f"kubelet-{node}",
                partial(start_kubelet, node=node),
                needs=(f"containerd-{node}", "kube-apiserver"),
                group="kubernetes",
            ),
            Part(
                f"kube-proxy-{node}",
                partial(start_proxy, node=node),
                needs=("accounts", f"kubelet-{node}"),  # it gives up on a node that is not registered in time
                after=(f"leg-{node}",),  # it looks at the node's addresses when it starts, and not again
                group="kubernetes",
            ),
            Part(
                f"leg-{node}",
                partial(plug_leg, node=node),
                needs=("golden-copy", f"ovn-controller-{node}"),
                group="openstack",
                process=False,
            ),
        ]
    return made


def start_containerd(lab: Lab, *, node: str) -> None:
    """The container runtime, with our images in it."""
    folder = lab.place.data / f"containerd-{node}"
    v4, v6 = lab.spec.pod_ranges(node)
    network_file = lab.place.etc / f"cni-{node}/10-pods.conflist"
    write("kubernetes/cni.conflist", network_file, {"DATA": lab.place.data / f"cni-{node}", "V4": v4, "V6": v6})
    socket = lab.socket(f"containerd-{node}")
    values = {"ROOT": folder, "SOCKET": socket, "CNI": network_file.parent}
    configuration = write("kubernetes/containerd.toml", lab.place.etc / f"containerd-{node}.toml", values)
    # pods behind one bridge reach each other by Service addresses only if bridged answers pass the node's NAT
    lab.hosts.sysctl(node, **{"net__bridge__bridge-nf-call-iptables": 1, "net__bridge__bridge-nf-call-ip6tables": 1})
    part = f"containerd-{node}"
    lab.spawn(part, ["containerd", "--config", configuration, "--log-level", "warn"], host=node)
    lab.wait(part, lambda: _succeeds([*_ctr(lab, node), "version"]), seconds=30, what="containerd to answer")
    load_images(lab, node, images.file(assets=lab.spec.assets))


def load_images(lab: Lab, node: str, archive: Path) -> None:
    """Give a node's pods images that no registry has."""
    lab.hosts.run(node, [*_ctr(lab, node), "images", "import", archive])


def name_image(lab: Lab, node: str, image: str, name: str) -> None:
    """Let pods of a node have an image by another name too."""
    lab.hosts.run(node, [*_ctr(lab, node), "images", "tag", "--force", image, name])


def _ctr(lab: Lab, node: str) -> list[str]:
    return ["ctr", "--address", str(lab.socket(f"containerd-{node}")), "--namespace", "k8s.io"]


def start_kubelet(lab: Lab, *, node: str) -> None:
    """The kubelet; it may only do what the API server lets this node do."""
    spec, place = lab.spec, lab.place
    addresses = [spec.management(node), spec.management6(node)]
    server = lab.authority.issue(
        f"kubelet-server-{node}", f"system:node:{node}", groups=["system:nodes"], addresses=addresses, names=[node]
    )
    values = {
        "ADDRESS": addresses[0],
        "CONTAINERD": lab.socket(f"containerd-{node}"),
        "CA": lab.authority.certificate,
        "CERTIFICATE": server.certificate,
        "KEY": server.key,
        "DNS": ranges.DNS_SERVICE,
        "LOGS": place.log / f"pods-{node}",
        "PLUGINS": place.data / f"kubelet-{node}/volume-plugins",
        "CGROUP": lab.cage.room(f"pods-{node}"),
    }
    configuration = write("kubernetes/kubelet.yaml", place.etc / f"kubelet-{node}.yaml", values)
    kubeconfig = write_kubeconfig(lab, f"kubelet-{node}.kubeconfig", f"system:node:{node}", groups=["system:nodes"])
    part = f"kubelet-{node}"
    lab.spawn(
        part,
        [
            lab.program("kubelet"),
            f"--config={configuration}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={place.data / part}",
            f"--hostname-override={node}",
            f"--node-ip={','.join(addresses if spec.dual_nodes else addresses[:1])}",
        ],
        host=node,
    )
    lab.wait(part, lambda: _ready(lab, node), seconds=90, what=f"node {node} to be Ready")


def start_proxy(lab: Lab, *, node: str) -> None:
    """kube-proxy in nftables mode."""
    spec = lab.spec
    values = {
        "NODE": node,
        "ADDRESS": spec.management(node),
        "PODS": f"{ranges.PODS_V4},{ranges.PODS_V6}",
        "KUBECONFIG": write_kubeconfig(lab, "kube-proxy.kubeconfig", "system:kube-proxy"),
        "NODE_PORTS": ", ".join(
            (spec.management_network, ranges.NODES_V4, f'"{spec.management_network6}"', f'"{ranges.NODES_V6}"')
        ),
    }
    configuration = write("kubernetes/kube-proxy.yaml", lab.place.etc / f"kube-proxy-{node}.yaml", values)
    part = f"kube-proxy-{node}"
    lab.spawn(part, [lab.program("kube-proxy"), f"--config={configuration}"], host=node)
    health = f"http://{spec.management(node)}:10256/healthz"
    lab.wait(part, lambda: lab.answers_in(node, health), seconds=60, what=f"kube-proxy on {node} to be healthy")


def plug_leg(lab: Lab, *, node: str) -> None:
    """The node's own port on network `nodes`: how Octavia, and whoever else lives in OVN, reaches the node."""
    port = topology.load(lab).ports[node]
    network.plug(lab, node, "ovn0", port, chassis=node)
    network.answer_by_ovn_leg(lab, node, port)


def _ready(lab: Lab, node: str) -> bool:
    condition = "-o=jsonpath={.status.conditions[?(@.type=='Ready')].status}"
    try:
        return lab.kubectl("get", f"node/{node}", condition) == "True"
    except CommandError:
        return False


def _succeeds(argv: list[str]) -> bool:
    try:
        processes.run(argv)
    except CommandError:
        return False
    return True
