// The metrics as a scraper gets them: over HTTP, in the text format.
#ifndef HOLDFAST_TESTS_SUPPORT_SCRAPE_H_
#define HOLDFAST_TESTS_SUPPORT_SCRAPE_H_

#include <map>
#include <string>

namespace holdfast::testing {

// Status line, headers and body of a GET of `path` at `address` (IPV4:PORT); empty when nothing
// answers.
std::string HttpGet(const std::string& address, const std::string& path);

// Each sample by its name and labels as they are written, `name{label="value"}`.
using Samples = std::map<std::string, double>;

// The samples in the answer to a scrape; none when it is not 200.
Samples Scrape(const std::string& address);

// The name of a sample without its labels, and without what a histogram adds to it.
std::string MetricNameOf(const std::string& sample);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_SCRAPE_H_
