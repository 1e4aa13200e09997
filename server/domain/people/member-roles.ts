/** The roles of members of a brokerage. */

/** Every role, the one with the most rights first. */
export const memberRoles = ['admin', 'broker', 'staff'] as const;
export type MemberRole = (typeof memberRoles)[number];
