// Processor time of processes and of their threads, in seconds, as the kernel counts it in
// nanoseconds.
#ifndef HOLDFAST_BENCH_PROCESSOR_TIME_H_
#define HOLDFAST_BENCH_PROCESSOR_TIME_H_

#include <sys/types.h>
#include <vector>

namespace holdfast::bench {

// Of the process, with its threads that have ended. 0 when there is no such process.
double ProcessorSecondsOf(pid_t pid);
// Of the children of the process that have ended and that it has waited for, in clock ticks.
double EndedChildrenSecondsOf(pid_t pid);
// Of the process's threads that have a name of their own and live. In a server these are gRPC's:
// holdfastd names none, so that its workers have the name of the process.
double NamedThreadsSecondsOf(pid_t pid);
// Of this process and its children that have ended.
double OwnProcessorSeconds();

// The processes that the main thread of `pid` has started and not yet waited for.
std::vector<pid_t> ChildrenOf(pid_t pid);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_PROCESSOR_TIME_H_
