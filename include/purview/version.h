/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Purview authors
 */

/** @file
 * The version of the library, for C, C++ and CMake, which reads this file. The version of the
 * protocol is limits::protocol_version.
 */
#ifndef PURVIEW_VERSION_H
#define PURVIEW_VERSION_H

/** @addtogroup api_common
 * @{ */

/** Changes with an incompatible change of the API, from 1.0 on. */
#define PURVIEW_VERSION_MAJOR 0
/** Changes with each release that adds to the API; before 1.0 also with an incompatible change. */
#define PURVIEW_VERSION_MINOR 1
/** Changes with each release that only fixes errors. */
#define PURVIEW_VERSION_PATCH 0

/** One number to compare: 1002003 for version 1.2.3. */
#define PURVIEW_VERSION \
    (PURVIEW_VERSION_MAJOR * 1000000 + PURVIEW_VERSION_MINOR * 1000 + PURVIEW_VERSION_PATCH)

/** The version as text: "1.2.3". */
#define PURVIEW_VERSION_TEXT \
    PURVIEW_VERSION_JOIN(PURVIEW_VERSION_MAJOR, PURVIEW_VERSION_MINOR, PURVIEW_VERSION_PATCH)
/** Joins three numbers, macros replaced first. Not for other code. */
#define PURVIEW_VERSION_JOIN(major, minor, patch) PURVIEW_VERSION_QUOTE(major, minor, patch)
/** Joins three numbers as they are written. Not for other code. */
#define PURVIEW_VERSION_QUOTE(major, minor, patch) #major "." #minor "." #patch

/** @} */

#endif
