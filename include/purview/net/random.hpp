// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Random numbers and a keyed hash, for ServerDef and ClientDef. Part of purview::net (libsodium).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace purview::net {

/// @addtogroup api_net
/// @{

/// Returns 32 random bytes of the system, for ServerDef::secret. Aborts if the system has none.
std::array<std::byte, 32> random_secret();
/// Returns 64 random bits of the system, for ClientDef::nonce. Aborts if the system has none.
std::uint64_t random_number();
/// Computes the keyed hash BLAKE2b-128, for ServerDef::mac.
void mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
         std::span<std::byte, 16> out);

/// @}

}  // namespace purview::net
