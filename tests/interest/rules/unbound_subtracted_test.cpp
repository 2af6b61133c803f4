// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A node that subtracts or is required covers no entity.
#include <string>

#include "support/line_support.hpp"

namespace purview::test::lines::unbound_subtracted {

TEST_CASE("unbound entities: a node that adds nothing does not cover them" *
          doctest::test_suite("N58")) {
    for (const Combine combine : {Combine::subtract, Combine::require}) {
        NodeDef other = node("other", {flag(Combine::add, 0)}, Members::unbound);
        other.combine = combine;
        Rules def = def_of({node("bound", {within(Combine::add, 10)}, Members::bound), other});
        def.kinds.resize(1);
        const InterestManager manager = make(def);
        bool warns = false;
        for (const std::string& warning : manager.warnings())
            warns = warns || warning.find("bound to no node") != std::string::npos;
        CHECK(warns);
    }
}

}  // namespace purview::test::lines::unbound_subtracted
