#include "tensor/parsed_bytes.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/work_scope.h"

namespace carillon {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;
using WireFormat = google::protobuf::internal::WireFormatLite;

// protobuf does not read messages that are nested deeper.
constexpr int kMostDepth = 100;
// Lists double; in an arena what they had before stays.
constexpr size_t kGrowth = 4;
// A block of malloc's, and its place in a list.
constexpr size_t kPlace = 16 + kGrowth * sizeof(void*);
constexpr size_t kString = sizeof(std::string) + kPlace + 16;
constexpr size_t kUnknown = kGrowth * 16 + kString;
constexpr size_t kMapEntry = 128;

struct MessageKind;

struct FieldKind {
  enum { kUnknownField, kOneNumber, kNumbers, kText, kMessage } is = kUnknownField;
  WireFormat::WireType wire = {};        // of numbers, one by one
  size_t element = 0;                    // of kNumbers: what one takes
  const MessageKind* message = nullptr;  // of kMessage
};

struct MessageKind {
  size_t object = 0;
  std::vector<FieldKind> fields;  // by number
};

size_t NumberBytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

// All kinds that were asked for. They stay: there are as many as our messages.
class Kinds {
 public:
  const MessageKind& Of(const Descriptor& type) {
    const WorkPause pause;  // what is made here is everybody's, and must not be left half made
    std::lock_guard lock(mutex_);
    return Find(type);
  }

 private:
  const MessageKind& Find(const Descriptor& type) {
    std::unique_ptr<MessageKind>& kind = kinds_[&type];
    if (kind != nullptr) return *kind;
    kind = std::make_unique<MessageKind>();  // known from here on: messages contain themselves
    MessageKind& made = *kind;
    made.object = type.options().map_entry()
                      ? kMapEntry
                      : static_cast<size_t>(google::protobuf::MessageFactory::generated_factory()
                                                ->GetPrototype(&type)
                                                ->SpaceUsedLong());
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const auto number = static_cast<size_t>(field.number());
      if (made.fields.size() <= number) made.fields.resize(number + 1);
      FieldKind& of = made.fields[number];
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        of = {.is = FieldKind::kMessage, .message = &Find(*field.message_type())};
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        of = {.is = FieldKind::kText};
      } else {
        const auto wire = WireFormat::WireTypeForFieldType(
            static_cast<WireFormat::FieldType>(static_cast<int>(field.type())));
        of = field.is_repeated() ? FieldKind{.is = FieldKind::kNumbers,
                                             .wire = wire,
                                             .element = kGrowth * NumberBytes(field)}
                                 : FieldKind{.is = FieldKind::kOneNumber, .wire = wire};
      }
    }
    return made;
  }

  std::mutex mutex_;
  std::map<const Descriptor*, std::unique_ptr<MessageKind>> kinds_;
};

// Up to the end or limit, or the end of a group.
size_t Count(CodedInputStream* in, const MessageKind& kind, int depth) {
  static const MessageKind nothing;
  size_t most = 0;
  while (const uint32_t tag = in->ReadTag()) {
    const auto number = static_cast<size_t>(WireFormat::GetTagFieldNumber(tag));
    const WireFormat::WireType type = WireFormat::GetTagWireType(tag);
    if (type == WireFormat::WIRETYPE_END_GROUP) break;
    const FieldKind field = number < kind.fields.size() ? kind.fields[number] : FieldKind{};
    if (type == WireFormat::WIRETYPE_START_GROUP && depth < kMostDepth) {
      // proto3 has no groups, and keeps all that is in one.
      most += kUnknown + Count(in, nothing, depth + 1);
      const uint32_t end =
          WireFormat::MakeTag(static_cast<int>(number), WireFormat::WIRETYPE_END_GROUP);
      if (!in->LastTagWas(end)) break;
      continue;
    }
    if (type != WireFormat::WIRETYPE_LENGTH_DELIMITED) {
      const bool is_known =
          (field.is == FieldKind::kNumbers || field.is == FieldKind::kOneNumber) &&
          field.wire == type;
      most += is_known ? field.element : kUnknown;
      if (!WireFormat::SkipField(in, tag)) break;
      continue;
    }
    uint32_t size = 0;
    if (!in->ReadVarint32(&size) || size > std::numeric_limits<int>::max()) break;
    if (field.is == FieldKind::kMessage && depth < kMostDepth) {
      const CodedInputStream::Limit outer = in->PushLimit(static_cast<int>(size));
      most += kPlace + field.message->object + Count(in, *field.message, depth + 1);
      const int left = in->BytesUntilLimit();
      if (left > 0 && !in->Skip(left)) break;
      in->PopLimit(outer);
      continue;
    }
    most += field.is == FieldKind::kText      ? kString + size
            : field.is == FieldKind::kNumbers ? field.element * size
                                              : kUnknown + size;
    if (!in->Skip(static_cast<int>(size))) break;
  }
  return most;
}

}  // namespace

size_t MostParsedBytes(CodedInputStream* in, const Descriptor& type) {
  static Kinds* const kinds = new Kinds;
  const MessageKind& kind = kinds->Of(type);
  return kind.object + Count(in, kind, 0);
}

size_t MostParsedBytes(std::string_view bytes, const Descriptor& type) {
  // A stream takes no more. As much as any field takes for a byte.
  constexpr size_t kMostTimes = 256;
  if (bytes.size() > std::numeric_limits<int>::max()) return kMostTimes * bytes.size();
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  return MostParsedBytes(&in, type);
}

}  // namespace carillon
