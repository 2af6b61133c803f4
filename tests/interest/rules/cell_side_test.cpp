// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/cell_side.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "spatial/block_table.hpp"

namespace purview {

TEST_CASE("grid: the number of cells stays within its limits for any world shape") {
    const float lengths[] = {0.001F, 1, 100, 16384, 1e6F};
    const float sizes[] = {0, 1e-3F, 1, 50};
    for (const Axes axes : {Axes::xy, Axes::xz, Axes::xyz}) {
        const bool three_d = axes == Axes::xyz;
        for (const float x : lengths) {
            for (const float y : lengths) {
                for (const float z : lengths) {
                    for (const float size : sizes) {
                        Rules rules;
                        rules.axes = axes;
                        rules.max = {x, y, z};
                        rules.cell_size = size;
                        const double side = cell_side(rules, three_d, 50);
                        CHECK(side >= size);
                        double cells = 1;
                        const float second = axes == Axes::xz ? z : y;
                        const float third = three_d ? z : 0;
                        for (const float length : {x, second, third}) {
                            const double along = std::max(1.0, std::ceil(length / side));
                            CHECK(along <= axis_cells_max + 1);
                            cells *= length == 0 ? 1 : along + 2;
                        }
                        CHECK(cells <= 5.1e6);
                    }
                }
            }
        }
    }
}

}  // namespace purview
