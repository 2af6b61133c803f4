// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Temporary directories, which the program creates for its files and removes when it ends.
#include "net/child_process.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace purview::test {

TEST_CASE("temporary directory: a failure to create it returns an empty path, no exception") {
    const char* before = std::getenv("TMPDIR");
    const std::string usual = before != nullptr ? before : "";
    REQUIRE(::setenv("TMPDIR", "/nonexistent", 1) == 0);
    std::string none = "not set";
    CHECK_NOTHROW(none = net::make_temporary_directory());
    CHECK(none.empty());
    REQUIRE((before != nullptr ? ::setenv("TMPDIR", usual.c_str(), 1) : ::unsetenv("TMPDIR")) == 0);
    const std::string made = net::make_temporary_directory();
    CHECK(std::filesystem::is_directory(made));
    net::remove_directory(made);
    CHECK_FALSE(std::filesystem::exists(made));
}

}  // namespace purview::test
