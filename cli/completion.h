// `holdfast completion bash|zsh`: a script that completes commands and options.
#ifndef HOLDFAST_CLI_COMPLETION_H_
#define HOLDFAST_CLI_COMPLETION_H_

#include "cli/cli11_names.h"
#include "cli/invocation.h"

namespace holdfast::cli {

// Completes what `app` has when the command runs; both must live until then.
void AddCompletionCommand(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_COMPLETION_H_
