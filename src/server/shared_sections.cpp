// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/shared_sections.hpp"

#include <algorithm>
#include <bit>

#include "core/mutate.hpp"
#include "link/messages.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

/// Maximum size of the payloads of one session in a tick: a third of its budget, but at most three
/// quarters of a datagram. The rest is for per-observer data (docs/budget.md).
std::uint64_t section_bits_max(std::uint32_t budget_bytes) noexcept {
    return std::min<std::uint64_t>(std::uint64_t{budget_bytes} * 8 / 3, limits::datagram_bytes * 6);
}

/// Returns whether entities of the kind may be members of the node, according to the nodes to which
/// the kind is bound.
bool may_belong(const NodeDef& node, std::size_t number, const KindRules& kind) {
    if (kind.mode == EntityMode::explicit_only) return false;
    const auto is_it = [&](NodeId bound) { return index_of(bound) == number; };
    switch (node.members) {
        case Members::all:
            return true;
        case Members::bound:
            return std::any_of(kind.nodes.begin(), kind.nodes.end(), is_it);
        case Members::unbound:
            return kind.nodes.empty() && !kind.needs_node;
    }
    return false;
}

bool has_position(const Schema& schema, const KindDef& kind) {
    return schema.position() != ComponentId::none &&
           std::find(kind.components.begin(), kind.components.end(), schema.position()) !=
               kind.components.end();
}

}  // namespace

std::string problem_of_sharing(const ServerDef& def) {
    const Schema& schema = *def.schema;
    for (std::size_t n = 0; n < def.rules.nodes.size(); ++n) {
        const NodeDef& node = def.rules.nodes[n];
        if (node.payload == Payload::per_observer) continue;
        const std::string subject = "node '" + node.name + "', which is in a shared mode: ";
        if (schema.position() == ComponentId::none) return subject + "the schema has no position";
        for (std::size_t k = 0; k < schema.kinds().size(); ++k) {
            const KindDef& kind = schema.kinds()[k];
            const KindRules its = k < def.rules.kinds.size() ? def.rules.kinds[k] : KindRules{};
            if (!has_position(schema, kind) || !may_belong(node, n, its)) continue;
            const std::string what = subject + "kind '" + kind.name + "' ";
            if (kind.relative_position)
                return what + "has positions relative to a parent, which belong to no cell";
            if (!kind.intervals.empty())
                return what + "has send intervals, which depend on the observer";
            if (kind.limit_per_tick != 0)
                return what + "has limit_per_tick, which depends on the ghosts of the observer";
            for (const ComponentId component : kind.components) {
                const ComponentDef& part = schema.components()[index_of(component)];
                if (part.audience.type != AudienceType::everyone)
                    return what + "has the component '" + part.name +
                           "', which has a restricted audience";
                if (std::any_of(part.fields.begin(), part.fields.end(),
                                [](const FieldDef& field) { return field.extrapolated; })) {
                    return what + "has extrapolated fields, which are encoded for each observer";
                }
            }
        }
    }
    return {};
}

void SharedSections::set_nodes() {
    std::vector<SharedCells::Node> nodes;
    const Rules& rules = interest_.rules();
    const auto& kinds = def_.schema->kinds();
    for (std::size_t n = 0; n < rules.nodes.size(); ++n) {
        const NodeDef& node = rules.nodes[n];
        if (node.payload == Payload::per_observer || !node.enabled) continue;
        PURVIEW_ASSERT(!node.steps.empty());
        SharedCells::Node shared;
        shared.payload = node.payload;
        shared.grid = cell_grid_of(rules, node.steps.front());
        shared.rings = node.steps.front().rings;
        shared.is_flat = rules.axes == Axes::xz;
        shared.steps.assign(node.steps.begin() + 1, node.steps.end());
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            const bool may =
                has_position(*def_.schema, kinds[k]) && may_belong(node, n, def_.rules.kinds[k]);
            shared.kinds.push_back(may ? 1 : 0);
        }
        nodes.push_back(std::move(shared));
    }
    if (nodes.empty() && !cells_.is_used()) return;
    cells_.set_nodes(std::move(nodes));
    for (const auto& session : sessions_)
        if (session->state == Session::State::joined) queue_cells(*session);
}

void SharedSections::queue_cells(Session& session) const {
    if (cells_.revision() == 0) return;
    std::vector<std::byte> bytes(message_bytes_max);
    BitWriter out(bytes);
    out.u8(static_cast<std::uint8_t>(ServerMessage::cells));
    const std::size_t count = std::min<std::size_t>(cells_.nodes().size(), cell_grids_max);
    out.u8(static_cast<std::uint8_t>(count));
    for (const SharedCells::Node& node : cells_.nodes().first(count)) {
        out.u8(node.is_flat ? 1 : 0);
        for (const float number :
             {node.grid.origin.x, node.grid.origin.y, node.grid.width, node.grid.height}) {
            out.u32(std::bit_cast<std::uint32_t>(number));
        }
        out.u32(node.grid.columns);
        out.u32(node.grid.rows);
    }
    PURVIEW_ASSERT(out.ok());
    session.has_unsent_cells = session.stream_out.send(out.written()) != Status::ok;
}

void SharedSections::plan(Session& session, const ReplicationInput& input, bool may_send) {
    session.shared.give_up();
    if (!cells_.is_used() || session.state != Session::State::joined || !may_send) {
        return;
    }
    session.shared.plan(input, session.ghosts, interest_.observers.viewpoint(session.observer),
                        section_bits_max(session.budget_bytes));
    if (!session.shared.has_sections()) return;
    for (const EntityId entity : cells_.relinked())
        session.ghosts.send_individually(entity, time_.tick);
}

void SharedSections::give_up(Session& session) const {
    session.shared.give_up();
    session.ghosts.give_up_sections();
}

void SharedSections::resolve(Session& session, DeliveryNotice notice) const {
    session.shared.resolve(notice.sequence, notice.delivered);
    const PacketRecord* record = session.ghosts.packets().oldest_with_sections(notice.sequence);
    if (record == nullptr || PURVIEW_GUARD(section_loss, notice.delivered)) return;
    // Fields that changed again since are in a later packet.
    session.ghosts.lost_sections(*record, [&](LocalId slot) {
        const KindLayout& layout = fields_.layout(session.ghosts.slots().kind(slot));
        return std::any_of(layout.fields.begin(), layout.fields.end(), [&](const KindField& f) {
            return f.def->type != FieldType::reference &&
                   fields_.changed_tick(session.ghosts.slots().entity_index(slot), f) ==
                       record->tick;
        });
    });
}

}  // namespace purview
