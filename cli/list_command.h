// The commands that read a list of the server page by page and show it.
#ifndef HOLDFAST_CLI_LIST_COMMAND_H_
#define HOLDFAST_CLI_LIST_COMMAND_H_

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/json_list.h"
#include "cli/page_options.h"
#include "cli/session_calls.h"
#include "cli/session_command.h"

#include "grpcpp/support/status.h"

#include <functional>
#include <ostream>
#include <string>

namespace holdfast::cli {

// How one list is read and shown.
template <typename Request, typename Reply>
struct List {
  SessionMethod<Request, Reply> method;
  const PageOptions& page;
  // Completes the request.
  std::function<grpc::Status(const SessionCalls&, Request&)> prepare;
  // Writes a page as text.
  std::function<void(const Reply&)> write;
  // Changes a page before it is written in any form; may be empty.
  std::function<void(Reply&)> change = {};
  // What JSON adds to an item of a page; may be empty.
  std::function<AmendItem(const Reply&)> amend = {};
};

template <typename Request, typename Reply>
ExitCode RunList(const SessionCommand& command, const List<Request, Reply>& list) {
  const Invocation& invocation = command.invocation();
  const Connection connection(invocation.address);
  const Caller caller(command.policy(), MachineClock());
  const SessionCalls calls(connection, caller);
  JsonList json(invocation);
  Request request;
  grpc::Status status = list.prepare(calls, request);
  if (!status.ok()) return Refuse(invocation, status);
  request.set_page_token(list.page.token);
  std::string next;
  const auto take = [&](Reply& page) {
    if (list.change) list.change(page);
    if (invocation.json()) {
      json.Add(page, list.amend ? list.amend(page) : AmendItem());
    } else {
      list.write(page);
    }
    invocation.out << std::flush;
    next = page.next_page_token();
    return invocation.out.good();
  };
  status = calls.ReadPages<Request, Reply>(list.method, request, list.page.limit, take);
  if (!status.ok()) return invocation.json() ? json.Fail(status) : Refuse(invocation, status);
  if (invocation.json()) json.End();
  WriteNextPage(invocation, next);
  return kDone;
}

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_LIST_COMMAND_H_
