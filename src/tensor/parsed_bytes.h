// What parsing takes. A message of many small fields takes a hundred times its size in memory, and
// protobuf cannot be stopped half way: so it is counted before.
#pragma once

#include <cstddef>
#include <string_view>

namespace google::protobuf {
class Descriptor;
namespace io {
class CodedInputStream;
}
}  // namespace google::protobuf

namespace carillon {

// What the bytes up to the end or limit of `in` take at most once they are parsed as a `type`, a
// message of ours, lists that have grown included. Bytes that are no such message count as far as
// they can be read. Takes time for every field, not for every byte. Thread-safe.
size_t MostParsedBytes(google::protobuf::io::CodedInputStream* in,
                       const google::protobuf::Descriptor& type);
size_t MostParsedBytes(std::string_view bytes, const google::protobuf::Descriptor& type);
template <typename Message>
size_t MostParsedBytes(std::string_view bytes) {
  return MostParsedBytes(bytes, *Message::descriptor());
}

}  // namespace carillon
