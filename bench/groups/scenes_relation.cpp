// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Relations: what a change of a group costs, in the world and in interest, and what relative places
// save.
#include "groups/scenes.hpp"

namespace purview::bench {

void scene_rebuild(GroupsReport&, const GroupsOptions&) {}
void scene_membership(GroupsReport&, const GroupsOptions&) {}
void scene_passenger(GroupsReport&, const GroupsOptions&) {}

}  // namespace purview::bench
