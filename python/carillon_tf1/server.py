"""tf.train.Server: one task of a cluster, as a Carillon server."""

import json
import sys

from tensorflow.python.framework import errors
from tensorflow.python.training import server_lib

from carillon_tf1 import settings
from carillon_tf1.attached import AttachedServer


def install(v1):
    """Puts our server where scripts look for TensorFlow's."""
    if not settings.TENSORFLOW_SERVERS:
        server_lib.Server = Server
        v1.train.Server = Server
        v1.distribute.Server = Server


class Server:
    """Takes what tf.train.Server takes, and refuses what it refuses. Runs until the script ends, or the job."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._server_def = server_lib._make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        if self._server_def.protocol != "grpc":
            raise errors.NotFoundError(None, None, f"protocol {self._server_def.protocol!r}: Carillon servers speak grpc")
        self._server = None
        if start:
            self.start()

    @staticmethod
    def create_local_server(config=None, start=True):
        """A task that is alone, at any free port."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    @property
    def server_def(self):
        return self._server_def

    @property
    def target(self):
        """What a session connects to. The port may be the system's choice, so the server is started if it was not."""
        self.start()
        return self._server.target

    def start(self):
        """Starts the server and waits until it is ready; does nothing when it runs."""
        if self._server is not None:
            return
        try:
            self._server = AttachedServer(*self._flags())
        except RuntimeError as error:
            raise errors.UnknownError(None, None, f"the server of {self._name()} {error}") from None

    def join(self):
        """Waits until the job is over (for a parameter server: until all workers are done), and then ends the script with exit code 0.

        TensorFlow's join never returns, so what many scripts have behind it is for other tasks: it must not run here either. When the server
        ends early that is an error."""
        self.start()
        if self._server.join():
            raise errors.UnavailableError(None, None, f"the server of {self._name()} ended early: {self._server.how_it_ended()}")
        sys.exit(0)

    def _name(self):
        return f"/job:{self._server_def.job_name}/task:{self._server_def.task_index}"

    def _flags(self):
        me = self._server_def
        jobs = {job.name: dict(job.tasks) for job in me.cluster.job}
        flags = ["--job", me.job_name, "--task", str(me.task_index)]
        own = jobs.get(me.job_name, {}).get(me.task_index, "")
        if sum(map(len, jobs.values())) == 1 and own.endswith(":0"):
            flags += ["--port", "0"]  # nobody else has to know where it is
        else:
            flags += ["--cluster", json.dumps(jobs)]
        config = me.default_session_config.SerializeToString()
        return flags + (["--session_config", config.hex()] if config else [])
