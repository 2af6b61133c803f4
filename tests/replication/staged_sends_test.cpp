// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/staged_sends.hpp"

#include <doctest/doctest.h>

namespace purview::test {

TEST_CASE("staged sends: the cursor moves when a part is sent, not when it is planned") {
    StagedSends staged;
    CHECK(!staged.has_remainder(90));
    CHECK(staged.cursor(90) == 0);
    CHECK(staged.memory_bytes() == 0);
    staged.clear_remainder(90);
    staged.set_remainder(90, 4);
    CHECK(staged.has_remainder(90));
    CHECK(staged.cursor(90) == 0);
    staged.advance(90);
    CHECK(staged.cursor(90) == 4);
    staged.clear_remainder(90);
    CHECK(!staged.has_remainder(90));
    CHECK(staged.cursor(90) == 4);  // the next remainder starts after it
    staged.begin(90);
    CHECK(staged.cursor(90) == 0);
}

}  // namespace purview::test
