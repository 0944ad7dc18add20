// Queues of tuples of tensors, shared by steps, and by sessions when they have a shared name.
//
// Ops that cannot go on wait: enqueues while the queue is full, dequeues while it has too few
// elements. They end with Error(Cancelled) when their step is cancelled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

struct QueueOpOptions {
  // One for each component; without them elements may have any shape, and only be taken singly.
  std::vector<PartialShape> shapes = {};
  int64_t capacity = -1;    // negative: no limit
  std::string name;         // of the node
  std::string container;    // where the queue lives; empty: the default container
  std::string shared_name;  // nodes of equal container and shared name share one queue, in all
                            // sessions; empty: each session has its own
};

// Handles to queues whose elements have components of these dtypes.

// First in, first out.
Output FIFOQueue(Graph& g, const std::vector<DType>& component_types,
                 const QueueOpOptions& options = {});
// The same; elements whose sizes differ where the shapes say -1 are padded with zeros when several
// are taken at once. Needs shapes.
Output PaddingFIFOQueue(Graph& g, const std::vector<DType>& component_types,
                        const QueueOpOptions& options);
// In random order. While it is open at least `min_after_dequeue` elements stay behind, so that the
// choice is never among few. With equal seeds the order is the same each time, and TensorFlow's;
// from entropy when both are 0.
struct RandomShuffleQueueOptions {
  QueueOpOptions queue = {};
  int64_t min_after_dequeue = 0;
  int64_t seed = 0;
  int64_t seed2 = 0;
};
Output RandomShuffleQueue(Graph& g, const std::vector<DType>& component_types,
                          const RandomShuffleQueueOptions& options = {});
// Smallest priority first. Elements have one more component, the first: an int64 scalar, the
// priority. Needs shapes (of the other components).
Output PriorityQueue(Graph& g, const std::vector<DType>& component_types,
                     const QueueOpOptions& options);

// Adds one element. Error(Cancelled) when the queue is closed.
Operation QueueEnqueue(const Output& queue, const std::vector<Input>& components);
// Adds the rows of the components, one element each, as there is room.
Operation QueueEnqueueMany(const Output& queue, const std::vector<Input>& components);

// Takes one element: its components. Error(OutOfRange) when the queue is closed and empty.
std::vector<Output> QueueDequeue(const Output& queue);
// Takes n elements, or none: each component with one more dimension, the first. Error(OutOfRange)
// when the queue is closed and has fewer.
std::vector<Output> QueueDequeueMany(const Output& queue, const Input& n);
// The same, but the rest when the queue is closed and has fewer; Error(OutOfRange) when it is
// empty.
std::vector<Output> QueueDequeueUpTo(const Output& queue, const Input& n);

// No more elements go in once those that wait are in, or are cancelled. What is in can be taken.
Operation QueueClose(const Output& queue, bool cancel_pending_enqueues = false);
Output QueueIsClosed(const Output& queue);
Output QueueSize(const Output& queue);

}  // namespace carillon
