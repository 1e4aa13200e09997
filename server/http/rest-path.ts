/** The base path of the REST API. */
export const restPath = '/api/v1';
