// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What lists and packets of a tick are made from: the same for all observers.
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
    bool break_order = false;  ///< test builds: children go first, and the parent gate stands open
    SharedCells* shared =
        nullptr;                  ///< of nodes in a shared mode; needed where an observer reads it
    float enter_priority = 1;     ///< of what an observer does not have yet
    bool has_limits = false;      ///< some kind has a KindDef::limit
    bool break_audience = false;  ///< test builds: an update also says what is for others
};

}  // namespace purview
