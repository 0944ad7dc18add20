// The files of the data sets that we know, each read whole. Every size is checked before memory is
// taken for it; damage is DataLoss that names the file, the offset and what was expected.
#pragma once

#include <string>
#include <vector>

#include "base/env.h"
#include "carillon/data.h"

namespace carillon {

// MNIST's idx files: images uint8 [n, height, width, 1], labels int64 [n] below `classes`.
StatusOr<Tensor> ReadIdxImages(Env& env, const std::string& path);
StatusOr<Tensor> ReadIdxLabels(Env& env, const std::string& path, int classes);
// Writes them: images uint8 [n, height, width, 1] and labels int64 [n] below 256, else
// InvalidArgument.
Status WriteIdxImages(Env& env, const Tensor& images, const std::string& path);
Status WriteIdxLabels(Env& env, const Tensor& labels, const std::string& path);

// CIFAR's binary files, one after the other: records of `label_bytes` labels (the last one counts,
// below `classes`) and 32 x 32 pixels as three planes. Sets images and labels of *dataset.
Status ReadCifar(Env& env, const std::vector<std::string>& paths, int label_bytes, int classes,
                 Dataset* dataset);

// SVHN's cropped digits, a MATLAB file with X, uint8 [32, 32, 3, n] in column order, and y, n
// labels from 1 to 10 of which 10 stands for the digit 0. libmatio opens files by itself, so there
// is no Env: the file has to be on disk. Sets images and labels of *dataset.
Status ReadSvhn(const std::string& path, Dataset* dataset);

// TFRecords of tf.train.Example; see SaveAsTFRecords.
Status ReadExamples(Env& env, const std::vector<std::string>& paths, Dataset* dataset);
Status WriteExamples(Env& env, const Dataset& dataset, const std::string& path);

// A tensor that takes over the memory of `values`, which fill `shape`.
Tensor TensorOf(std::vector<uint8_t> values, const Shape& shape);
Tensor TensorOf(std::vector<int64_t> values, const Shape& shape);
// A tensor, or ResourceExhausted that says what it was for.
StatusOr<Tensor> AllocateFor(const std::string& what, DType dtype, const Shape& shape);

}  // namespace carillon
