/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Purview authors
 *
 * What a page adds to the client of purview.h: a pilot, who walks and drives by commands and
 * predicts what becomes of them. One for each client that has joined; destroyed before its client.
 */
#ifndef VALE_CLIENT_H
#define VALE_CLIENT_H

#include "purview.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vale_pilot vale_pilot;

/* 17 doubles. */
typedef struct vale_pilot_state {
    double corrections;     /* that changed something */
    double invisible;       /* of them, by less than two centimetres */
    double replayed;        /* commands, in all corrections */
    double largest_error_m; /* of a place */
    double last_error_m;
    double starved;   /* times when the server had no command of ours */
    double waiting;   /* commands at the server, as it last said */
    double rate;      /* of our clock */
    double own_ghost; /* whom we are drawn as: the cart, or the player; PV_NO_GHOST */
    double cart;      /* the ghost that we drive, or PV_NO_GHOST */
    double speed_mps; /* of it */
    double heading;
    double target_x;
    double target_y;
    double cooldown; /* ticks */
    double rounds;
    double newest_command;
} vale_pilot_state;

/* predicts: 0: commands are sent, and what is shown is what the server says. Null: not joined, or
 * not a vale. */
vale_pilot* vale_pilot_create(pv_client* client, uint32_t predicts);
void vale_pilot_destroy(vale_pilot* pilot);
/* What cannot be driven on: width x height bytes, 1 is blocked, row by row, each tile_m wide. */
void vale_pilot_ground(vale_pilot* pilot, uint32_t width, uint32_t height, float tile_m,
                       const uint8_t* blocked);
/* Room for so many bytes of it, valid until the next call; null: too many. */
uint8_t* vale_pilot_room(vale_pilot* pilot, uint32_t bytes);
/* Gives the commands that are due. Walking is a direction of length 0 to 1, throttle and steering
 * are -1 to 1, the gun points at a place. Returns how many were given. */
uint32_t vale_pilot_turn(vale_pilot* pilot, double now_ms, float walk_x, float walk_y,
                         float throttle, float steering, float target_x, float target_y,
                         uint32_t fires);
/* Where to draw things: writes x and y of `count` instances, which pv_client_collect has made. */
void vale_pilot_position(vale_pilot* pilot, pv_client* client, uint32_t count, double now_ms);
const vale_pilot_state* vale_pilot_look(vale_pilot* pilot);

#ifdef __cplusplus
}
#endif

#endif
