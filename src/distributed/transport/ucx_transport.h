// UcxTransport: frames of bytes between tasks by UCX: through shared memory on one machine, by RDMA
// between machines that have it, and by TCP where that is asked for.
//
// Between processes of one machine that may read each other's memory, a large tensor is not sent at
// all: the receiver reads it where it is, and says when it has.
//
// UCX itself asks nobody who they are. So an address goes to a task over a connection that knows
// who it is, together with a ticket, a random number, which every frame carries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"
#include "tensor/tensor_wire.h"

namespace carillon {

struct UcxOptions {
  bool tcp = false;                      // listen for TCP, too, on all interfaces
  std::shared_ptr<Allocator> allocator;  // where frames that arrive go
};

// A message as it arrived: `bytes`, then those of `content`. A tensor that a frame ends with has
// memory of its own, `content`; when there was none, the frame is cut off before it.
struct ReceivedFrame {
  std::string bytes;
  Tensor content;  // uint8; none when all is in `bytes`
  bool is_cut = false;
};

// Thread-safe.
class UcxTransport {
 public:
  // A frame, or why it could not be received; what comes with the same ticket after that may be
  // lost. Called by a thread of the transport's, one frame at a time, those with one ticket in the
  // order in which they were sent. It should not take long: what it hands in to a BackgroundPool
  // meanwhile is run by that same thread, while another takes its place.
  using OnFrame = std::function<void(uint64_t ticket, StatusOr<ReceivedFrame> frame)>;

  // The way to one task. Destroying it drops what is not sent yet.
  class Channel {
   public:
    virtual ~Channel() = default;
    // One at a time. Takes the frame and returns at once. That the other end is gone is for others
    // to find out.
    virtual void Send(MessagePieces frame) = 0;
  };

  // Unavailable when UCX cannot be used here, and why.
  static StatusOr<std::unique_ptr<UcxTransport>> Make(const UcxOptions& options, OnFrame on_frame);
  virtual ~UcxTransport() = default;

  // What another task needs to know to send to this one, besides a ticket.
  virtual const std::string& address() const = 0;
  // By which another task finds out whether it can read memory of this one.
  virtual std::string proof() const = 0;
  // Frames with this ticket are taken from now on, until it is forgotten. `proof` is that of who
  // sends them. True when its memory can be read.
  virtual bool Accept(uint64_t ticket, const std::string& proof) = 0;
  virtual void Forget(uint64_t ticket) = 0;
  // `can_read`: what Accept said at the other end. Unavailable when there is no way there. Channels
  // must be gone before Stop.
  virtual StatusOr<std::unique_ptr<Channel>> Connect(const std::string& address, uint64_t ticket,
                                                     bool can_read) = 0;
  // No frame is handed over any more once this returns. May be called again.
  virtual void Stop() = 0;
};

}  // namespace carillon
