"""Sessions on Carillon servers: soft placement, no proxy on the way, and a server for those that name none."""

import functools
import os

from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session
from tensorflow.python.framework import ops

from carillon_tf1 import server, settings

_local_server = None


def install():
    """Changes what all kinds of sessions (plain, interactive, monitored, managed) are made of."""
    if settings.TENSORFLOW_SERVERS:
        return
    make, reset = session.BaseSession.__init__, session.Session.reset

    @functools.wraps(make)
    def make_session(self, target="", graph=None, config=None):
        target = _resolve(target)
        if _is_served(target):
            _reach_directly(target)
            if config is None or isinstance(config, config_pb2.ConfigProto):
                config = _softly(config)
            _mention_gpus(graph or ops.get_default_graph())
        make(self, target, graph, config)

    @functools.wraps(reset)
    def reset_target(target, containers=None, config=None):
        target = _resolve(target)
        if _is_served(target):
            _reach_directly(target)
        reset(target, containers, config)

    session.BaseSession.__init__ = make_session
    session.Session.reset = staticmethod(reset_target)


def _resolve(target):
    """The target, or that of the script's own server where there is none."""
    global _local_server
    if target or not settings.LOCAL_SESSIONS:
        return target
    if _local_server is None:
        _local_server = server.Server.create_local_server()
    return _local_server.target


def _is_served(target):
    return isinstance(target, str) and target.startswith("grpc://")


def _reach_directly(target):
    """TensorFlow's client would go through $http_proxy, even to this machine."""
    host = target[len("grpc://"):].rpartition(":")[0].strip("[]")
    direct = os.environ.get("no_grpc_proxy", os.environ.get("no_proxy", "")).split(",")
    if host not in direct:
        os.environ["no_grpc_proxy"] = ",".join(filter(None, [*direct, host]))


def _softly(config):
    soft = config_pb2.ConfigProto(allow_soft_placement=True)
    if config is not None:
        soft.CopyFrom(config)
        soft.allow_soft_placement = True
    return soft


def _mention_gpus(graph):
    if any("gpu" in op.device.lower() for op in graph.get_operations()):
        settings.say_once("the script asks for GPUs; Carillon runs those ops on the CPU (soft placement)")
