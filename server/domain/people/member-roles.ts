/** The roles of members of a brokerage. */

/** Every role, the one that may most first. */
export const memberRoles = ['admin', 'broker', 'staff'] as const;
export type MemberRole = (typeof memberRoles)[number];
