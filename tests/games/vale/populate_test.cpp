// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entities that a seed generates in an empty vale.
#include <vector>

#include "vale_stage.hpp"

namespace purview::test {

TEST_CASE("vale: a seed generates the same carts with all compilers") {
    vale::Setup setup;
    setup.max = {1024, 1024, 0};
    setup.seed = 20;
    setup.carts = 2;
    const ValeStage stage(setup);
    const World& world = stage.server->world();
    std::vector<float> made;
    world.for_each([&](EntityId entity) {
        const vale::Engine* engine = world.get(entity, stage.schema.engine);
        if (engine == nullptr) return;
        const Vec3 position = world.position_of(entity);
        made.insert(made.end(), {engine->heading, position.x, position.y});
    });
    // The heading is drawn first.
    CHECK(made == std::vector<float>{1.43191004F, 993.567078F, 980.655945F, 2.29591322F,
                                     732.839233F, 858.809692F});
}

}  // namespace purview::test
