// A client that says whatever it likes: bytes to any method of a server, and sockets that speak no
// gRPC at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "proto/master.pb.h"

namespace grpc {
class Channel;
}

namespace carillon {

class RawClient {
 public:
  // A connection of its own to the server on this machine.
  explicit RawClient(int port);
  ~RawClient();

  // `method` is a full one, "/tensorflow.MasterService/RunStep". `reply` may be null.
  Status Call(const std::string& method, const std::string& request, std::string* reply = nullptr,
              std::chrono::milliseconds deadline = std::chrono::seconds(60));
  // A method of the master service with its messages.
  Status Master(const std::string& method, const google::protobuf::MessageLite& request,
                google::protobuf::MessageLite* reply,
                std::chrono::milliseconds deadline = std::chrono::seconds(60));

  // Creates a session with this graph, runs one step and closes the session. What fails first is
  // the result; `timeout` is the step's own.
  Status RunOnce(const tensorflow::GraphDef& graph, const std::string& fetch,
                 std::chrono::milliseconds timeout = std::chrono::seconds(30));
  StatusOr<std::string> CreateSession(const tensorflow::GraphDef& graph);
  Status CloseSession(const std::string& handle);

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

// A GraphDef from its text form; the test fails when the text is wrong.
tensorflow::GraphDef GraphOf(const std::string& text);
// Lines of such a text: a constant of int64 or int32 values, a vector unless `scalar`.
std::string ConstText(const std::string& name, const std::vector<int64_t>& values,
                      const std::string& dtype = "DT_INT64", bool scalar = false);
std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs = "");
// One attribute: Attr("T", "type: DT_FLOAT").
std::string Attr(const std::string& name, const std::string& value);

// TCP connections to the server on this machine that are open until the object goes.
class SilentConnections {
 public:
  ~SilentConnections();
  // False when no more can be opened.
  bool Open(int port);
  // Writes to the last one.
  bool Send(const std::string& bytes);
  // Waits until the server has closed the last one. False when it does not.
  bool WaitUntilClosed();
  size_t size() const { return sockets_.size(); }

 private:
  std::vector<int> sockets_;
};

}  // namespace carillon
