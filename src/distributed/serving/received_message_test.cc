#include "distributed/serving/received_message.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <zlib.h>

namespace carillon {
namespace {

using Packing = ReceivedMessage::Packing;

std::string RandomBytes(size_t size, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string Pack(const std::string& bytes, Packing packing) {
  z_stream zlib{};
  const int window = packing == Packing::kGzip ? 16 + MAX_WBITS : MAX_WBITS;
  EXPECT_EQ(deflateInit2(&zlib, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&zlib, bytes.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  return packed;
}

class ReceivedMessageTest : public testing::Test {
 protected:
  ReceivedMessage Whole(const std::string& bytes, Packing packing = Packing::kNone) {
    ReceivedMessage message(memory_, bytes.size(), packing);
    EXPECT_EQ(message.Take(bytes), bytes.size());
    EXPECT_TRUE(message.is_whole());
    return message;
  }

  const std::shared_ptr<MessageMemory> memory_ = std::make_shared<MessageMemory>(8 << 20);
};

TEST_F(ReceivedMessageTest, AnEmptyOneIsWholeFromTheBeginning) {
  ReceivedMessage message(memory_, 0, Packing::kNone);
  EXPECT_TRUE(message.is_whole());
  EXPECT_EQ(message.Take("of the next message"), 0);
  EXPECT_TRUE(message.Room(100).empty());
  EXPECT_EQ(message.ToString(), "");
  ReceivedMessage::Stream stream(message);
  const void* data;
  int size;
  EXPECT_FALSE(stream.Next(&data, &size));
  EXPECT_TRUE(stream.Skip(0));
  EXPECT_FALSE(stream.Skip(1));
  EXPECT_EQ(stream.ByteCount(), 0);
}

TEST_F(ReceivedMessageTest, ComesByteByByte) {
  const std::string bytes = RandomBytes(50'000);
  ReceivedMessage message(memory_, bytes.size(), Packing::kNone);
  for (const char& byte : bytes) {
    ASSERT_FALSE(message.is_whole());
    ASSERT_EQ(message.Take({&byte, 1}), 1);
  }
  EXPECT_TRUE(message.is_whole());
  EXPECT_EQ(message.Take("x"), 0);
  EXPECT_EQ(message.ToString(), bytes);
}

TEST_F(ReceivedMessageTest, ComesInOddPiecesCopiedAndInPlace) {
  const std::string bytes = RandomBytes(5'000'000) + "the next message";
  const size_t size = 5'000'000;
  ReceivedMessage message(memory_, size, Packing::kNone);
  std::mt19937 random(7);
  size_t come = 0;
  while (!message.is_whole()) {
    const size_t next = 1 + random() % (random() % 2 == 0 ? 300 : 300'000);
    const std::string_view rest = std::string_view(bytes).substr(come, next);
    if (random() % 2 == 0) {
      come += message.Take(rest);
      continue;
    }
    const std::span<char> room = message.Room(next);
    ASSERT_FALSE(room.empty());
    ASSERT_LE(room.size(), std::min(next, size - come));
    // Not all of it may be filled, and then what follows may come another way.
    const size_t filled = random() % (room.size() + 1);
    rest.copy(room.data(), filled);
    ASSERT_EQ(message.Take({room.data(), filled}), filled);
    come += filled;
  }
  EXPECT_EQ(come, size);
  EXPECT_TRUE(message.Room(1).empty());
  EXPECT_EQ(message.ToString(), bytes.substr(0, size));
}

TEST_F(ReceivedMessageTest, TakesMemoryByWhatComesNotByWhatIsAnnounced) {
  ReceivedMessage message(memory_, INT32_MAX, Packing::kNone);
  const int64_t nothing = memory_->held();
  EXPECT_GT(nothing, 0);
  EXPECT_LT(nothing, 1024);
  message.Take("x");
  EXPECT_LT(memory_->held(), 32 << 10);
  const std::string kibibyte(1024, 'x');
  for (int i = 0; i < 4096; ++i) message.Take(kibibyte);
  EXPECT_GE(memory_->held(), 4 << 20);
  EXPECT_LE(memory_->held(), 8 << 20);
  EXPECT_FALSE(message.is_whole());
}

TEST_F(ReceivedMessageTest, CountsWhatItHolds) {
  const std::string bytes = RandomBytes(100'000);
  {
    ReceivedMessage first = Whole(bytes);
    const int64_t one = memory_->held();
    EXPECT_GE(one, 100'000);
    ReceivedMessage second(std::move(first));
    EXPECT_EQ(memory_->held(), one);
    EXPECT_EQ(second.ToString(), bytes);
    ReceivedMessage third = Whole(bytes);
    EXPECT_EQ(memory_->held(), 2 * one);
    third = std::move(second);
    EXPECT_EQ(memory_->held(), one);
    EXPECT_EQ(third.size(), bytes.size());
    ReceivedMessage& same = third;
    third = std::move(same);
    EXPECT_EQ(third.ToString(), bytes);
    EXPECT_EQ(memory_->held(), one);
    third = {};
    EXPECT_EQ(memory_->held(), 0);
    // What is left of one that was moved away holds nothing, and is good for another.
    EXPECT_TRUE(first.is_whole());
    EXPECT_EQ(first.ToString(), "");
    first = Whole(bytes);
    EXPECT_EQ(memory_->held(), one);
  }
  EXPECT_EQ(memory_->held(), 0);
}

TEST_F(ReceivedMessageTest, ManySmallOnesAreNotFree) {
  std::vector<ReceivedMessage> messages;
  for (int i = 0; i < 1000; ++i) messages.push_back(Whole(""));
  EXPECT_GE(memory_->held(), 100'000);
  messages.clear();
  EXPECT_EQ(memory_->held(), 0);
}

TEST_F(ReceivedMessageTest, AMemoryWithoutLimitTakesAll) {
  MessageMemory unlimited(0), limited(100);
  EXPECT_TRUE(unlimited.HasRoomFor(INT64_MAX));
  unlimited.Add(1ll << 50);
  EXPECT_FALSE(unlimited.is_over_limit());
  EXPECT_TRUE(limited.HasRoomFor(100));
  EXPECT_FALSE(limited.HasRoomFor(101));
  limited.Add(100);
  EXPECT_FALSE(limited.is_over_limit());
  limited.Add(1);
  EXPECT_TRUE(limited.is_over_limit());
}

TEST_F(ReceivedMessageTest, AFairShareIsThreeQuartersOfWhatOthersLeave) {
  MessageMemory memory(1000), unlimited(0);
  EXPECT_TRUE(unlimited.AddFairly(1ll << 50, 1ll << 50));
  EXPECT_TRUE(memory.AddFairly(700, 0));
  EXPECT_FALSE(memory.AddFairly(51, 700));
  EXPECT_TRUE(memory.AddFairly(50, 700));
  EXPECT_FALSE(memory.AddFairly(200, 0));  // another one
  EXPECT_TRUE(memory.AddFairly(180, 0));
  EXPECT_EQ(memory.held(), 930);
}

Tensor Bytes(size_t size) { return Tensor(DType::kUint8, Shape{static_cast<int64_t>(size)}); }

TEST_F(ReceivedMessageTest, HasPlacesForWhatIsStillToCome) {
  const std::string bytes = RandomBytes(3'000'000);
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    ReceivedMessage message(memory_, bytes.size(), Packing::kNone);
    std::vector<Tensor> contents;
    std::vector<size_t> offsets;
    for (size_t at = 0; at < bytes.size();) {
      const std::string_view next = std::string_view(bytes).substr(at, 1 + random() % 200'000);
      const std::span<char> room = message.Room(next.size());
      if (random() % 2 == 0 && room.size() == next.size()) {
        next.copy(room.data(), next.size());
        at += message.Take({room.data(), room.size()});
      } else {
        at += message.Take(next);
      }
      const size_t unplaced = message.unplaced();
      if (unplaced == 0 || at == bytes.size()) continue;
      // Some of it has come.
      const size_t come = random() % (std::min<size_t>(unplaced, 100'000) + 1);
      const size_t size = come + 1 + random() % std::min<size_t>(bytes.size() - at, 700'000);
      offsets.push_back(at - come);
      contents.push_back(Bytes(size));
      ASSERT_TRUE(message.Place(at - come, contents.back()));
      EXPECT_EQ(message.unplaced(), 0);
    }
    ASSERT_TRUE(message.is_whole());
    EXPECT_TRUE(message.ToString() == bytes) << round;
    ASSERT_EQ(message.contents().size(), contents.size());
    EXPECT_GT(contents.size(), 1);
    for (size_t i = 0; i < contents.size(); ++i) {
      EXPECT_EQ(message.contents()[i].raw_data(), contents[i].raw_data());
      const std::string_view there(static_cast<const char*>(contents[i].raw_data()),
                                   contents[i].num_bytes());
      EXPECT_TRUE(there == std::string_view(bytes).substr(offsets[i], there.size())) << round;
    }
    message = {};
    EXPECT_EQ(memory_->held(), 0);
  }
}

TEST_F(ReceivedMessageTest, APlaceIsForAPartThatComesAndHasNone) {
  const std::string bytes = RandomBytes(1'000'000);
  ReceivedMessage message(memory_, bytes.size(), Packing::kNone);
  EXPECT_FALSE(message.Place(1, Bytes(10)));         // what is before has not come
  EXPECT_FALSE(message.Place(0, Bytes(1'000'001)));  // it is larger than the message
  EXPECT_FALSE(message.Place(0, Bytes(0)));
  message.Take(std::string_view(bytes).substr(0, 100'000));
  const int64_t held = memory_->held();
  EXPECT_FALSE(message.Place(90'000, Bytes(10'000)));  // all of it has come
  EXPECT_FALSE(message.Place(90'000, Bytes(910'001)));
  EXPECT_FALSE(message.Place(100'001, Bytes(10)));
  EXPECT_EQ(memory_->held(), held);
  EXPECT_TRUE(message.Place(90'000, Bytes(200'000)));
  EXPECT_FALSE(message.Place(100'000, Bytes(300'000)));  // it has one
  message.Take(std::string_view(bytes).substr(100'000, 190'000));
  EXPECT_EQ(message.unplaced(), 0);
  EXPECT_FALSE(message.Place(289'999, Bytes(10'000)));
  EXPECT_TRUE(message.Place(290'000, Bytes(100'000)));  // the next one follows at once
  message.Take(std::string_view(bytes).substr(290'000));
  EXPECT_TRUE(message.is_whole());
  EXPECT_TRUE(message.ToString() == bytes);
  EXPECT_EQ(message.contents().size(), 2);
  // What has a place counts as it comes, like all else.
  EXPECT_GE(memory_->held(), bytes.size());
}

TEST_F(ReceivedMessageTest, StreamGoesBackAndForthAcrossPieces) {
  const std::string bytes = RandomBytes(700'000);
  const ReceivedMessage message = Whole(bytes);
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    ReceivedMessage::Stream stream(message);
    size_t at = 0;
    for (;;) {
      if (random() % 3 == 0) {
        const size_t count = random() % 60'000;
        const bool is_there = count <= bytes.size() - at;
        ASSERT_EQ(stream.Skip(static_cast<int>(count)), is_there);
        at = std::min(at + count, bytes.size());
        ASSERT_EQ(stream.ByteCount(), at);
        continue;
      }
      const void* data;
      int size;
      if (!stream.Next(&data, &size)) break;
      ASSERT_GT(size, 0);
      const std::string_view piece(static_cast<const char*>(data), static_cast<size_t>(size));
      ASSERT_EQ(piece, std::string_view(bytes).substr(at, piece.size()));
      at += piece.size();
      ASSERT_EQ(stream.ByteCount(), at);
      const size_t back = random() % 2 == 0 ? 0 : random() % (piece.size() + 1);
      stream.BackUp(static_cast<int>(back));
      at -= back;
      ASSERT_EQ(stream.ByteCount(), at);
    }
    EXPECT_EQ(at, bytes.size());
  }
}

TEST_F(ReceivedMessageTest, StreamSkipsToTheVeryEnd) {
  const std::string bytes = RandomBytes(100'000);
  const ReceivedMessage message = Whole(bytes);
  ReceivedMessage::Stream stream(message);
  EXPECT_TRUE(stream.Skip(100'000));
  EXPECT_EQ(stream.ByteCount(), 100'000);
  EXPECT_FALSE(stream.Skip(1));
  const void* data;
  int size;
  EXPECT_FALSE(stream.Next(&data, &size));
}

class PackedMessageTest : public ReceivedMessageTest,
                          public testing::WithParamInterface<ReceivedMessage::Packing> {};

TEST_P(PackedMessageTest, IsUnpacked) {
  const std::vector<std::string> all = {
      "", "x", std::string(16 << 10, 'x'), RandomBytes(300'000),
      std::string(3'000'000, 'y') + RandomBytes(100'000) + std::string(1'000'000, 'z')};
  for (const std::string& bytes : all) {
    ReceivedMessage message = Whole(Pack(bytes, GetParam()), GetParam());
    ASSERT_TRUE(message.Unpack().ok()) << bytes.size();
    EXPECT_TRUE(message.is_whole());
    EXPECT_EQ(message.size(), bytes.size());
    EXPECT_EQ(message.ToString(), bytes);
    EXPECT_GE(memory_->held(), bytes.size());
    EXPECT_TRUE(message.Unpack().ok());  // there is nothing left to do
    EXPECT_EQ(message.ToString(), bytes);
  }
  EXPECT_EQ(memory_->held(), 0);
}

TEST_P(PackedMessageTest, IsRefusedWhenItIsDamaged) {
  const std::string packed = Pack(RandomBytes(100'000), GetParam());
  std::vector<std::string> damaged = {"",
                                      "x",
                                      packed.substr(0, 1),
                                      packed.substr(0, 20'000),
                                      packed.substr(0, packed.size() - 1),
                                      packed + "x",
                                      packed + packed};
  for (const size_t at : {size_t{0}, size_t{50'000}, packed.size() - 3}) {
    damaged.push_back(packed);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 0x55);
  }
  for (const std::string& bytes : damaged) {
    ReceivedMessage message = Whole(bytes, GetParam());
    EXPECT_EQ(message.Unpack().code(), absl::StatusCode::kInvalidArgument) << bytes.size();
  }
  EXPECT_EQ(memory_->held(), 0);
}

TEST_P(PackedMessageTest, OneKindIsNotTakenForTheOther) {
  const Packing other = GetParam() == Packing::kGzip ? Packing::kZlib : Packing::kGzip;
  ReceivedMessage message = Whole(Pack("some bytes", other), GetParam());
  EXPECT_EQ(message.Unpack().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(PackedMessageTest, GrowsNoFurtherThanMessagesMay) {
  const std::string bomb = Pack(std::string(64 << 20, '\0'), GetParam());
  ASSERT_LT(bomb.size(), 100'000);
  {
    ReceivedMessage message = Whole(bomb, GetParam());
    EXPECT_EQ(message.Unpack().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_LT(memory_->held(), 200'000);  // what was unpacked is gone again
  }
  EXPECT_EQ(memory_->held(), 0);
  const auto unlimited = std::make_shared<MessageMemory>(0);
  ReceivedMessage message(unlimited, bomb.size(), GetParam());
  message.Take(bomb);
  ASSERT_TRUE(message.Unpack().ok());
  EXPECT_EQ(message.size(), 64 << 20);
}

// Not to the limit either: others would have to make room for what they bring next.
TEST_P(PackedMessageTest, LeavesOthersSome) {
  const auto others = Whole(RandomBytes(1 << 20));
  const int64_t before = memory_->held();
  for (const int mebibytes : {5, 2}) {
    ReceivedMessage message =
        Whole(Pack(std::string(size_t{1} << 20, 'x') + std::string((mebibytes - 1) << 20, '\0'),
                   GetParam()),
              GetParam());
    EXPECT_EQ(message.Unpack().code(),
              mebibytes == 5 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
  EXPECT_EQ(memory_->held(), before);
}

INSTANTIATE_TEST_SUITE_P(All, PackedMessageTest, testing::Values(Packing::kZlib, Packing::kGzip),
                         [](const testing::TestParamInfo<Packing>& info) {
                           return info.param == Packing::kZlib ? "Zlib" : "Gzip";
                         });

}  // namespace
}  // namespace carillon
