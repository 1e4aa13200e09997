/** The path below which the REST API answers. */
export const restPath = '/api/v1';
