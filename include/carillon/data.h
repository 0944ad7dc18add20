// Data sets in memory, and batches of them.
//
//   DataSplits data = LoadDataset("digits");
//   Batches train(data.train, {.batch_size = 100, .one_hot = true});
//   while (…) {
//     auto [images, labels] = train.NextBatch();  // float [100,28,28,1] in [0, 1], float [100,10]
//     …
//   }
//   Batches test(data.test, BatchOptions::ForEvaluation(1000));
//   for (Batch batch; test.Next(&batch);) …
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/tensor.h"

namespace carillon {

// Pictures and what they show. A copy shares the memory.
struct Dataset {
  std::string name;  // "mnist train"
  Tensor images;     // uint8, or float which batches do not scale; [n, height, width, channels]
  Tensor labels;     // int64 [n], from 0 to class_names.size() - 1
  std::vector<std::string> class_names;  // what the labels mean

  int64_t size() const { return labels.has_value() ? labels.dim(0) : 0; }
  int64_t num_classes() const { return static_cast<int64_t>(class_names.size()); }
};

struct DataSplits {
  Dataset train, test;
};

// The names that LoadDataset takes: "digits", "mnist", "fashion_mnist", "cifar10", "cifar100",
// "svhn".
std::vector<std::string> DatasetNames();

// "digits" is drawn by this very library and needs no files. The others are read from the files
// that their authors give away (packed with gzip or not), looked for in `data_dir` and its folder
// NAME; without a data_dir in the folder that the environment variable MNIST_DIR,
// FASHION_MNIST_DIR, CIFAR10_DIR, CIFAR100_DIR or SVHN_DIR names, in $CARILLON_DATA_DIR and in
// ./data, each with its folder NAME. Throws Error: NotFound says where it looked and where to get
// the files, DataLoss names the damaged file, the offset and what was expected there.
DataSplits LoadDataset(std::string_view name, const std::string& data_dir = "");

// Handwritten digits, 28 x 28, drawn from strokes with random pose, pen, noise and clutter. The
// same seed draws the same digits; sample i does not depend on how many there are.
struct DigitsOptions {
  int64_t train_size = 60'000;
  int64_t test_size = 10'000;
  uint64_t seed = 1;
};
DataSplits DrawDigits(const DigitsOptions& options = {});

// Writes and reads a data set as TFRecords of tf.train.Example with the features image_raw (bytes),
// height, width, depth and label (int64). `class_names` may be empty: the labels then name
// themselves. Throw Error.
void SaveAsTFRecords(const Dataset& dataset, const std::string& path);
Dataset LoadTFRecords(const std::vector<std::string>& paths,
                      const std::vector<std::string>& class_names = {});

struct Batch {
  Tensor images;  // float
  Tensor labels;  // int64 [n], or float [n, classes] when one-hot
};

// Changes that make the most of few pictures. Which change a picture gets depends on the seed, the
// epoch and the picture alone.
struct Augmentation {
  // Shift by up to this many pixels each way; what comes in from outside is black.
  int pad_crop = 0;
  // Mirror half of the pictures, left to right.
  bool flip = false;
  // Mean 0 and variance 1 for each picture, after the rest. What a network was trained with it
  // needs for evaluation, too.
  bool standardise = false;
};

struct BatchOptions {
  int64_t batch_size = 100;
  int64_t epochs = 0;  // how often to go through the data; 0: for ever
  bool shuffle = true;
  uint64_t seed = 0;  // of the order and the augmentation; the same on all workers
  // Leave out what does not fill a batch at the end of an epoch, rather than give a short batch.
  bool drop_remainder = true;
  bool one_hot = false;
  bool flatten = false;  // images [n, height * width * channels]
  Augmentation augment;
  int prefetch = 2;  // batches made ahead on a thread; 0: none, no thread

  // This worker's part: in each epoch the shuffled samples are dealt to the shards in turn, so that
  // together they have every sample exactly once.
  int shard = 0;
  int num_shards = 1;

  // One pass in order, with the remainder, nothing random.
  static BatchOptions ForEvaluation(int64_t batch_size);
};

// A stream of batches. The sequence depends on the data and the options alone. One thread at a
// time.
class Batches {
 public:
  // Throws Error(InvalidArgument) when the data set is malformed or an option is out of range.
  Batches(const Dataset& dataset, const BatchOptions& options);
  ~Batches();  // stops the thread
  Batches(Batches&&) noexcept;
  Batches& operator=(Batches&&) noexcept;

  // Throws Error(OutOfRange) after the last epoch.
  Batch NextBatch();
  // The same for batches of another size from here on; what was made ahead is made again.
  Batch NextBatch(int64_t batch_size);
  // False after the last epoch.
  bool Next(Batch* batch);

  // Which samples the last batch held, by their index in the data set.
  const std::vector<int64_t>& last_indices() const;
  int64_t epoch() const;  // of the last batch, from 0
  int64_t batches_per_epoch() const;
  const BatchOptions& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Proof of which samples were seen: feed it the indices of all workers' batches of one epoch.
class Coverage {
 public:
  explicit Coverage(int64_t samples) : counts_(static_cast<size_t>(samples), 0) {}
  // Throws Error(OutOfRange) for an index that the data set does not have.
  void Add(const std::vector<int64_t>& indices);
  int64_t seen() const;      // samples seen at least once
  int64_t missing() const;   // never
  int64_t repeated() const;  // more than once
  bool exact() const { return missing() == 0 && repeated() == 0; }
  // "60,000 of 60,000 samples seen, none missing, none repeated"; otherwise with the first indices
  // of each kind.
  std::string Report() const;

 private:
  std::vector<uint32_t> counts_;
};

// TFRecord files, TensorFlow's: byte strings with checksums. Throw Error; damage is DataLoss that
// names the file and the offset.
class TFRecordReader {
 public:
  explicit TFRecordReader(const std::string& path);
  ~TFRecordReader();
  bool Next(std::string* record);  // false at the end of the file

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class TFRecordWriter {
 public:
  explicit TFRecordWriter(const std::string& path);
  ~TFRecordWriter();  // without Close() the end of the file may be lost
  void Write(std::string_view record);
  void Close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace carillon
