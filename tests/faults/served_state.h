// What a disk holds, as a real server shows it to a real client.
#ifndef HOLDFAST_TESTS_FAULTS_SERVED_STATE_H_
#define HOLDFAST_TESTS_FAULTS_SERVED_STATE_H_

#include "tests/faults/workload.h"
#include "tests/support/memory_files.h"

#include <string>

namespace holdfast::test {

// Copies `disk` into a directory, has it adopted and served, and compares what a client reads with
// what the workload knows. Empty when all is well; else what is wrong, in words.
std::string CheckServed(const MemoryDisk& disk, const Workload& workload);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_FAULTS_SERVED_STATE_H_
