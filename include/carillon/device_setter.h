// Where the ops of a replica go: variables to the parameter servers, the rest to the worker.
//
//   DeviceScope on(g, ReplicaDeviceSetter(cluster, {.worker_task = task}));
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "carillon/cluster.h"
#include "carillon/graph.h"

namespace carillon {

// Chooses the ps task of a variable. Called once for each, in the order in which they are made.
using PsStrategy = std::function<int(const Operation& variable)>;

// 0, 1, …, tasks - 1, 0, …
PsStrategy RoundRobin(int tasks);

// The task with the least load so far, the lowest of several; then `load` of the variable is added
// to it. Balances bytes by default.
using LoadFunction = std::function<double(const Operation& variable)>;
PsStrategy GreedyLoadBalancing(int tasks, LoadFunction load = {});
// Bytes of the variable's value. Throws Error(InvalidArgument) when its shape is not known, or it
// has several outputs.
double ByteSizeLoad(const Operation& variable);

// A task by the variable's name and the seed: the same in every process.
PsStrategy RandomByName(int tasks, int64_t seed);

struct DeviceSetterOptions {
  int worker_task = -1;  // added to worker_device; -1: it is there already, or left open
  std::string worker_device = "/job:worker";
  std::string ps_device = "/job:ps";  // its job is the one whose tasks hold the variables
  int ps_tasks = 0;                   // when there is no cluster
  // What goes to a ps; empty: variables and tables of TensorFlow's kinds.
  std::vector<std::string> ps_ops;
  PsStrategy strategy;  // empty: RoundRobin
  // false: an op with any device of its own keeps that as it is.
  bool merge_devices = true;
};

// An op's own device comes first: what it leaves open is filled in. The strategy is asked only for
// variables that go to the ps job and name no job, or that one. Without ps tasks nothing is set.
DeviceFunction ReplicaDeviceSetter(const ClusterSpec& cluster,
                                   const DeviceSetterOptions& options = {});

}  // namespace carillon
