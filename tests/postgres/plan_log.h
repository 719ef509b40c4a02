// What PostgreSQL's auto_explain says of statements in the server's log: which rows each one read.
#ifndef HOLDFAST_TESTS_POSTGRES_PLAN_LOG_H_
#define HOLDFAST_TESTS_POSTGRES_PLAN_LOG_H_

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

// The settings of a cluster whose log ReadPlans reads.
std::vector<std::string> PlanLogSettings();

// One node of a plan that reads a table.
struct Scan {
  std::string table;
  std::string index;        // by which it finds them
  std::string condition;    // on the index
  bool sequential = false;  // it reads all of the table
  double loops = 0;
  double rows = 0;     // that it answered, over all of its loops
  double removed = 0;  // that it read for nothing
};

// A query that was carried out: a prepared statement, or one within a function that it called.
struct Plan {
  std::string statement;  // the name of the prepared statement
  std::string query;
  std::vector<Scan> scans;
  std::string text;
  bool in_scan = false;  // while it is read: the last line is about the last scan

  // Rows that it read.
  [[nodiscard]] double Read() const;
};

// The plans in a piece of the log, in the order in which they ended.
std::vector<Plan> ReadPlans(std::string_view log);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_POSTGRES_PLAN_LOG_H_
