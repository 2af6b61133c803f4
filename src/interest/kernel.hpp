// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A kernel answers one question about sixteen entities at a time: which of the lanes of these
// blocks apply? It is asked once per window, not once per block (one indirect call per block
// costs 1.3 to 1.65 times the whole tick). True means "apply", whatever the step does with it
// (N18).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "purview/ids.hpp"
#include "purview/rules.hpp"
#include "spatial/block_table.hpp"

namespace purview {

class InterestKernel;

/// What flags and keys are called.
struct AttributeNames {
    std::vector<std::string> flags;
    std::vector<std::string> keys;

    std::string flag(FlagId id) const {
        return index_of(id) < flags.size() ? flags[index_of(id)]
                                           : "flag " + std::to_string(index_of(id));
    }
    std::string key(KeyDomain id) const {
        return index_of(id) < keys.size() ? keys[index_of(id)]
                                          : "key " + std::to_string(index_of(id));
    }
};

/// One observer and all the blocks of its window.
struct Question {
    ObserverId observer;
    std::span<const Vec3> places;        ///< where it looks from; empty: it is nowhere
    std::span<const Key> keys;           ///< [key domains] the groups it belongs to
    std::span<const BlockIndex> blocks;  ///< [n]
    std::span<const Mask> was;           ///< [n] this kernel's answer of last tick, carried along
    std::size_t inside;  ///< the first so many blocks lie wholly within this kernel's inside_m()
    const BlockTable& table;
};

/// What an answer depends on decides where it may live: in one row for all who share the key, or in
/// every window.
enum class DependsOn : std::uint8_t { entity, key, pair };

class InterestKernel {
  public:
    virtual ~InterestKernel() = default;
    /// out[n] and unknown[n], zeroed by the caller; a bit of unknown overrules the bit of out. Bits
    /// of empty lanes may be anything. A kernel with a reach is not asked about an observer that is
    /// nowhere, nor about entities without a place: these are unknown to it (N54).
    virtual void test(const Question& question, std::span<Mask> out,
                      std::span<Mask> unknown) const noexcept = 0;
    /// False: it leaves `unknown` alone (and is given none).
    virtual bool answers_unknown() const noexcept { return false; }
    /// The numbers behind the answer for one lane of the first block, in words. Called right after
    /// `test` with the same question.
    virtual std::string describe(const Question& question, unsigned lane) const = 0;
    virtual DependsOn depends_on() const noexcept { return DependsOn::pair; }
    /// It wants its own previous answer: a plane of the window, carried when an entity changes
    /// slot.
    virtual bool remembers() const noexcept { return false; }
    /// A spatial kernel: how far from a place of the observer it may say yes. 0: not spatial.
    virtual float reach_m() const noexcept { return 0; }
    /// A spatial kernel: up to here from a place it always says yes. Negative: nowhere.
    virtual float inside_m() const noexcept { return -1; }
    /// Radii around the observer's places at which the answer changes; nothing else of a move
    /// matters.
    virtual std::vector<float> edges_m() const { return {}; }
    /// The answer for an entity alone (DependsOn::entity), or for one that shares the key.
    virtual bool test_entity(const BlockTable&, Slot) const noexcept { return false; }
    virtual KeyDomain domain() const noexcept { return KeyDomain::none; }
};

/// The built-in kernels.
std::unique_ptr<InterestKernel> make_kernel(const KernelDesc& desc, const AttributeNames& names);

}  // namespace purview
