// PlainRefusal: tells clients that come without TLS to a server that has it why they are refused.
#pragma once

#include <memory>
#include <string>

namespace carillon {

// A gRPC server of its own that answers every call with UNAUTHENTICATED and the reason, and reads
// no request: whoever is not known gets no memory. (A closed connection would tell the client
// nothing.)
class PlainRefusal {
 public:
  PlainRefusal();
  ~PlainRefusal();

  // Owns the connection.
  void Take(int listener, int connection);
  void Stop();  // may be called again

  // What clients are told.
  static const std::string& reason();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace carillon
