// ResumeSession: with `wait` it waits for the end of another holder's lease and then resumes.
#ifndef HOLDFAST_SERVER_RPC_WRITE_WAITING_RESUME_H_
#define HOLDFAST_SERVER_RPC_WRITE_WAITING_RESUME_H_

#include "server/rpc/call/unary.h"
#include "server/session_waiters.h"
#include "session/sessions.h"

#include <grpcpp/support/server_callback.h>

namespace holdfast {

// Finishes the call exactly once: with LEASE_HELD where the lease is still live when the time is
// over. All must outlive it.
grpc::ServerUnaryReactor* StartResume(Edge& edge, Sessions& sessions, SessionWaiters& waiters,
                                      const Unary& unary);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_WAITING_RESUME_H_
