"""The controller as pods: two of them, of which one leads, with no more rights on their node than they need.

Its configuration and its secrets are not here: the operator makes them, and the pods find them by name.
"""

from importlib import metadata

from mooring.manifests.objects import LABELS, NAME, NAMESPACE, Object, made

IMAGE = f"localhost/mooring:{metadata.version('mooring')}"
"""No registry has this name: nobody else's image is run by mistake before the operator names one."""
CONFIG = "mooring-config"
CLOUDS = "mooring-clouds"
TLS = "mooring-tls"

CONTROLLER = "mooring-controller"
FOLDER = "/etc/mooring"
PORT = 9440
USER = 65532
COMPONENT = {"app.kubernetes.io/component": "controller"}
SELECTED = LABELS | COMPONENT


def objects(image: str) -> tuple[Object, ...]:
    return (_deployment(image), _disruption_budget())


def _deployment(image: str) -> Object:
    spec: Object = {
        "replicas": 2,
        "selector": {"matchLabels": dict(SELECTED)},
        "template": {"metadata": {"labels": dict(SELECTED)}, "spec": _pod(image)},
    }
    return made("apps/v1", "Deployment", CONTROLLER, NAMESPACE, labels=COMPONENT, spec=spec)


def _disruption_budget() -> Object:
    """Nodes are emptied one after the other: one that can lead is always left."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": dict(SELECTED)}}
    return made("policy/v1", "PodDisruptionBudget", CONTROLLER, NAMESPACE, labels=COMPONENT, spec=spec)


def _pod(image: str) -> Object:
    return {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 15,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {"podAntiAffinity": _apart()},
        "containers": [_container(image)],
        "volumes": [{"name": "etc", "projected": _etc()}],
    }


def _container(image: str) -> Object:
    return {
        "name": "controller",
        "image": image,
        "args": ["controller", "--config", f"{FOLDER}/mooring.toml"],
        # Where the probes ask and what is mounted where is this pod's business, whatever the file says.
        "env": [
            {"name": "MOORING_CONTROLLER_MONITORING", "value": f"0.0.0.0:{PORT}"},
            {"name": "MOORING_OPENSTACK_CLOUDS_FILE", "value": f"{FOLDER}/clouds.yaml"},
        ],
        "ports": [{"name": "monitoring", "containerPort": PORT}],
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        "readinessProbe": _probe("/readyz", period=5, failures=2),
        # No limit of processor time: who is throttled while it renews the Lease loses it.
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "etc", "mountPath": FOLDER, "readOnly": True}],
    }


def _probe(path: str, *, period: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "monitoring"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _apart() -> Object:
    """On two nodes, where there are two."""
    where = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": dict(SELECTED)}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": where}]}


def _etc() -> Object:
    """The same folder as on a gateway, so that one configuration file serves both."""
    certificates = [{"key": name, "path": f"tls/{name}"} for name in ("ca.crt", "tls.crt", "tls.key")]
    return {
        "defaultMode": 0o440,
        "sources": [
            {"configMap": {"name": CONFIG}},
            {"secret": {"name": CLOUDS, "optional": True}},  # who lists addresses needs no OpenStack
            {"secret": {"name": TLS, "items": certificates}},
        ],
    }
