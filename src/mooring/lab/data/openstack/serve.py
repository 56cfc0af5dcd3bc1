"""Serves one OpenStack program over TLS; run by the interpreter of the OpenStack environment, not by ours.

    serve.py MODULE ADDRESS PORT CERTIFICATE KEY [oslo.config words]    the WSGI application of a module
    serve.py driver-agent [oslo.config words]                           octavia-driver-agent

Each request that changes something leaves a line, as in Kubernetes' audit log: `audit`, when it came, from where, what
it was, and how it was answered.

One repair outside of OpenStack's code: ovn-octavia-provider talks to the sockets below /var/run/octavia, whatever the
configuration says. OCTAVIA_SOCKETS names the folder instead.
"""

import importlib
import os
import sys
from datetime import UTC, datetime

READS = ("GET", "HEAD", "OPTIONS")


def use_sockets(folder):
    from octavia_lib.api.drivers import driver_lib

    driver_lib.DriverLibrary.__init__.__defaults__ = (
        f"{folder}/status.sock",
        f"{folder}/stats.sock",
        f"{folder}/get.sock",
    )


def driver_agent(words):
    sys.argv = ["octavia-driver-agent", *words]
    from octavia.cmd import driver_agent as agent

    sys.exit(agent.main())


def audited(application):
    async def served(scope, receive, send):
        if scope["type"] != "http" or scope["method"] in READS:
            await application(scope, receive, send)
            return
        came = datetime.now(UTC).isoformat()
        told = f"audit {came} {scope['client'][0]} {scope['method']} {scope['path']}"

        async def answer(message):
            if message["type"] == "http.response.start":
                print(told, message["status"], flush=True)  # noqa: T201 - this is how it is logged
            await send(message)

        await application(scope, receive, answer)

    return served


def serve(module, address, port, certificate, key, *words):
    sys.argv = [module, *words]  # the applications read these by oslo.config
    application = importlib.import_module(module).application

    import a2wsgi
    import uvicorn

    # uvicorn takes the signals after the application was loaded: so SIGTERM ends Neutron too
    uvicorn.run(
        audited(a2wsgi.WSGIMiddleware(application, workers=8)),
        host=address,
        port=int(port),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        log_level="warning",
        timeout_keep_alive=600,
        timeout_graceful_shutdown=1,
        lifespan="off",
    )


if __name__ == "__main__":
    if "OCTAVIA_SOCKETS" in os.environ:
        use_sockets(os.environ["OCTAVIA_SOCKETS"])
    if sys.argv[1] == "driver-agent":
        driver_agent(sys.argv[2:])
    else:
        serve(*sys.argv[1:])
