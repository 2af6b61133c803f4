// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The input for all plans and packets of a tick, the same for all observers.
#pragma once

#include "replication/encode_cache.hpp"
#include "replication/field_store.hpp"
#include "world/world_data.hpp"

namespace purview {

class SharedCells;

struct ReplicationInput {
    const Schema& schema;
    const WorldData& world;
    const FieldStore& fields;
    EncodeCache& cache;
    Tick tick;
    bool break_order = false;       ///< test builds: children first, no parent gate
    SharedCells* shared = nullptr;  ///< null if no observer reads shared payloads
    float enter_priority = 1;       ///< weight of enters
    bool has_limits = false;        ///< a kind has a KindDef::limit_per_tick
    bool break_audience = false;    ///< test builds: updates ignore audiences
};

}  // namespace purview
