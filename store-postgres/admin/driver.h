// What the sources of this folder have in common of libpqxx.
#ifndef HOLDFAST_STORE_POSTGRES_ADMIN_DRIVER_H_
#define HOLDFAST_STORE_POSTGRES_ADMIN_DRIVER_H_

#include "store-postgres/pg/connection.h"

#include <pqxx/pqxx>
#include <utility>

namespace holdfast::pg {

// Runs `statement`, prepared under its name, inside AdminConnection::Do.
template <typename... Arguments>
pqxx::result Execute(pqxx::transaction_base& transaction, const Statement& statement,
                     Arguments&&... arguments) {
  transaction.conn().prepare(statement.name, statement.sql);
  return transaction.exec_prepared(statement.name, std::forward<Arguments>(arguments)...);
}

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ADMIN_DRIVER_H_
