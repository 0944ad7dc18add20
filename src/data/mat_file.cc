// A version 5 file: a header of 128 bytes, then elements. An element is a tag (type and number of
// bytes, four bytes each) and its data; types 14 (an array) and 15 (an array packed with zlib)
// occur at the top. An array consists of elements: flags, dimensions, name, values. An element of
// at most 4 bytes may be folded into its tag: two bytes each for type and number, and the data.
#include "data/mat_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <zlib.h>

#include "carillon/shape.h"

namespace carillon {
namespace {

constexpr size_t kFileHeader = 128, kTag = 8;
constexpr uint32_t kTypeInt8 = 1, kTypeInt32 = 5, kTypeUint32 = 6, kTypeArray = 14,
                   kTypePacked = 15;
constexpr size_t kArrayHeader = 512;  // flags, dimensions and name of a plain array fit in
constexpr size_t kPiece = 64 << 10;

uint32_t Word(std::string_view bytes, size_t at) {
  uint32_t value;  // little-endian, as are the machines we run on
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Bytes of one value of a storage type; 0 for what holds no numbers.
uint64_t ValueBytes(uint32_t type) {
  switch (type) {
    case 1:
    case 2:
      return 1;  // int8, uint8
    case 3:
    case 4:
      return 2;  // int16, uint16
    case 5:
    case 6:
    case 7:
      return 4;  // int32, uint32, single
    case 9:
    case 12:
    case 13:
      return 8;  // double, int64, uint64
    default:
      return 0;
  }
}

struct Element {
  uint32_t type = 0;
  uint64_t bytes = 0;
  size_t begin = 0;  // of the data
  size_t next = 0;   // of the element after it
};

// What messages say about where we are.
struct Place {
  std::string path;
  uint64_t offset;
  Status Damaged(std::string_view what) const {
    return DataLoss(path, ": corrupt: the array at offset ", offset, " ", what);
  }
};

// The element at `at` of an array's first bytes; its data may reach beyond them.
StatusOr<Element> ElementAt(std::string_view bytes, size_t at, const Place& place) {
  if (at + kTag > bytes.size()) return place.Damaged("ends within its header");
  Element element;
  const uint32_t first = Word(bytes, at);
  if (first >> 16 != 0) {
    element = {first & 0xffff, first >> 16, at + 4, at + kTag};
    if (element.bytes > 4) return place.Damaged("has a folded element of more than 4 bytes");
    return element;
  }
  element = {first, Word(bytes, at + 4), at + kTag, 0};
  element.next = element.begin + (element.bytes + 7) / 8 * 8;
  return element;
}

// Checks an array of which `head` are the first bytes and `size` is the length, and describes it.
StatusOr<MatVariable> CheckArray(std::string_view head, uint64_t size, const Place& place) {
  const auto inside = [&](const Element& e) { return e.begin + e.bytes <= head.size(); };
  CARILLON_ASSIGN_OR_RETURN(const Element flags, ElementAt(head, 0, place));
  if (flags.type != kTypeUint32 || flags.bytes != 8 || !inside(flags)) {
    return place.Damaged("has no flags, expected type 6 with 8 bytes");
  }
  constexpr uint32_t kFirstNumeric = 6, kLastNumeric = 15, kComplex = 0x0800;
  const uint32_t word = Word(head, flags.begin), kind = word & 0xff;
  if (kind < kFirstNumeric || kind > kLastNumeric || (word & kComplex) != 0) {
    return Unimplemented(place.path, ": the array at offset ", place.offset, " is of class ", kind,
                         (word & kComplex) != 0 ? " and complex" : "",
                         ", expected real numbers (class 6 to 15)");
  }
  CARILLON_ASSIGN_OR_RETURN(const Element dims, ElementAt(head, flags.next, place));
  if (dims.type != kTypeInt32 || dims.bytes % 4 != 0 || dims.bytes / 4 > kMaxRank ||
      !inside(dims)) {
    return place.Damaged("has no valid dimensions, expected type 5 with up to 8 of 4 bytes");
  }
  MatVariable variable;
  variable.offset = place.offset;
  for (size_t i = 0; i < dims.bytes / 4; ++i) {
    variable.dims.push_back(static_cast<int32_t>(Word(head, dims.begin + 4 * i)));
  }
  Shape shape;
  if (variable.dims.size() < 2 || !Shape::TryMake(variable.dims, &shape)) {
    return place.Damaged("has dimensions that are negative, too few or too large");
  }
  CARILLON_ASSIGN_OR_RETURN(const Element name, ElementAt(head, dims.next, place));
  if (name.type != kTypeInt8 || name.bytes > 63 || !inside(name)) {
    return place.Damaged("has no valid name, expected type 1 with up to 63 bytes");
  }
  variable.name = std::string(head.substr(name.begin, name.bytes));
  CARILLON_ASSIGN_OR_RETURN(const Element values, ElementAt(head, name.next, place));
  const uint64_t value_bytes = ValueBytes(values.type);
  const auto count = static_cast<uint64_t>(shape.num_elements());
  if (value_bytes == 0 || values.bytes / value_bytes != count || values.bytes % value_bytes != 0 ||
      values.begin + values.bytes > size) {
    return place.Damaged(StrCat("(", variable.name, ") promises ", shape.ToString(),
                                " values, but has ", values.bytes, " bytes of type ", values.type));
  }
  return variable;
}

// Unpacks `size` bytes from `offset` on, checks that they are one whole zlib stream and returns its
// first bytes and its length.
Status Unpack(const ReadableFile& file, const Place& place, uint64_t offset, uint64_t size,
              std::string* head, uint64_t* length) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return ResourceExhausted(place.path, ": no memory to unpack");
  struct End {
    ~End() { ::inflateEnd(stream); }
    z_stream* stream;
  } const end{&stream};
  std::vector<char> packed(kPiece), unpacked(kPiece);
  *length = 0;
  for (uint64_t done = 0;;) {
    if (stream.avail_in == 0 && done < size) {
      const size_t piece = std::min<uint64_t>(kPiece, size - done);
      CARILLON_ASSIGN_OR_RETURN(const size_t got, file.Read(offset + done, {packed.data(), piece}));
      if (got < piece) return DataLoss(place.path, ": truncated at offset ", offset + done + got);
      stream.next_in = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(piece);
      done += piece;
    }
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
    stream.avail_out = static_cast<uInt>(unpacked.size());
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    const size_t got = unpacked.size() - stream.avail_out;
    head->append(unpacked.data(),
                 std::min(got, kArrayHeader - std::min(kArrayHeader, head->size())));
    *length += got;
    if (result == Z_STREAM_END) break;
    const bool ended = stream.avail_in == 0 && done == size && got == 0;
    if (result != Z_OK || ended) {
      return DataLoss(place.path, ": corrupt compressed data near offset ",
                      offset + done - stream.avail_in, ": ",
                      stream.msg != nullptr ? stream.msg : "it ends too early",
                      ", expected a zlib stream of ", size, " bytes from offset ", offset);
    }
  }
  return absl::OkStatus();
}

Status CheckFileHeader(const ReadableFile& file, const std::string& path) {
  std::array<char, kFileHeader> header;
  CARILLON_ASSIGN_OR_RETURN(const size_t got, file.Read(0, header));
  const std::string_view text(header.data(), got);
  if (text.starts_with("\x89HDF")) {
    return Unimplemented(path, ": a MATLAB 7.3 (HDF5) file, expected version 5 (save -v6 or -v7)");
  }
  if (got < kFileHeader) {
    return DataLoss(path, ": truncated at offset ", got, ": expected a MATLAB header of 128 bytes");
  }
  if (text.substr(126, 2) == "MI")
    return Unimplemented(path, ": big-endian, expected \"IM\" at offset 126");
  if (text.substr(124, 4) != std::string_view("\0\1IM", 4)) {
    const bool hdf = text.substr(124, 4) == std::string_view("\0\2IM", 4);
    if (hdf)
      return Unimplemented(path,
                           ": a MATLAB 7.3 (HDF5) file, expected version 5 (save -v6 or -v7)");
    return DataLoss(path, ": no MATLAB file: expected version 5 and \"IM\" at offset 124");
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<MatVariable>> ScanMatFile(Env& env, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(const auto file, env.OpenForReading(path));
  CARILLON_RETURN_IF_ERROR(CheckFileHeader(*file, path));
  std::vector<MatVariable> variables;
  for (uint64_t at = kFileHeader; at < file->size();) {
    const Place place{path, at};
    std::array<char, kTag> tag;
    CARILLON_ASSIGN_OR_RETURN(const size_t got, file->Read(at, tag));
    if (got < kTag) {
      return DataLoss(path, ": truncated at offset ", at + got,
                      ": expected 8 bytes of tag from offset ", at);
    }
    const uint32_t type = Word({tag.data(), kTag}, 0), bytes = Word({tag.data(), kTag}, 4);
    const uint64_t begin = at + kTag, left = file->size() - begin;
    if (type != kTypeArray && type != kTypePacked) {
      return DataLoss(path, ": corrupt: element type ", type, " at offset ", at,
                      ", expected 14 or 15");
    }
    if (bytes > left) {
      return DataLoss(path, ": truncated at offset ", file->size(), ": the element at offset ", at,
                      " has ", bytes, " bytes, expected the file to go on to ", begin + bytes);
    }
    std::string head;
    uint64_t length = bytes;
    if (type == kTypePacked) {
      CARILLON_RETURN_IF_ERROR(Unpack(*file, place, begin, bytes, &head, &length));
      if (head.size() < kTag || Word(head, 0) != kTypeArray || length - kTag != Word(head, 4)) {
        return place.Damaged("does not unpack to one array");
      }
      head.erase(0, kTag);
      length -= kTag;
    } else {
      head.resize(std::min<uint64_t>(kArrayHeader, bytes));
      CARILLON_ASSIGN_OR_RETURN(const size_t read, file->Read(begin, {head.data(), head.size()}));
      if (read < head.size()) return DataLoss(path, ": truncated at offset ", begin + read);
    }
    CARILLON_ASSIGN_OR_RETURN(MatVariable variable, CheckArray(head, length, place));
    variables.push_back(std::move(variable));
    at = begin + bytes;
  }
  return variables;
}

}  // namespace carillon
