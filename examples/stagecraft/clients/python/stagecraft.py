"""A Kubernetes in memory for tests in Python: starts `stagecraft serve`, and stops it.

    with stagecraft.cluster("--load", "crds/") as config_file:
        kubernetes.config.load_kube_config(config_file)

The program is that of the variable STAGECRAFT, or stagecraft of the PATH. It ends with this process: the pipe
to its standard input closes. Works with Python 3.8 and newer, and needs no package.
"""

import contextlib
import json
import os
import subprocess


class ServeError(Exception):
    """stagecraft serve has ended before it was ready. The text is what it said."""


@contextlib.contextmanager
def cluster(*flags):
    """Serve a cluster, and yield the path of its kubeconfig. Flags are those of `stagecraft serve`."""
    program = os.environ.get("STAGECRAFT", "stagecraft")
    process = subprocess.Popen(
        [program, "serve", "--until-stdin-closes", "--output", "json", *flags],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()  # it is written when the server answers
        if not line:
            raise ServeError(process.stderr.read())
        yield json.loads(line)["kubeconfig"]
    finally:
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()
        process.stderr.close()
