/** The logo of a brokerage: uploaded by its admins, and shown to everyone who sees the brokerage. */

import { Hono, type Context } from 'hono';
import type { Services } from '../../services.ts';
import { NotTaken } from '../../documents/kinds.ts';
import { mostOfPicture, pictureTooLarge, readPicture, type Picture } from '../../documents/pictures.ts';
import { brokerageOfCaller } from '../../domain/people/brokerages.ts';
import { keepLogo, logoFileName, logoOf, removeLogo } from '../../domain/people/logos.ts';
import { boundedBytes } from '../../http/bounded-body.ts';
import { sandboxPolicy } from '../../http/document-body.ts';
import { originOf } from '../../http/origin.ts';
import { asPerson } from '../../http/person.ts';
import { notAllowed, nothingThere, Problem, tooLarge } from '../../http/problem.ts';
import { pathId } from './input.ts';
import { orNotFound } from './problems.ts';

async function uploaded(c: Context): Promise<Picture> {
  const bytes = await boundedBytes(c, mostOfPicture.bytes);
  if (bytes === null) throw tooLarge(pictureTooLarge);
  try {
    return readPicture(Buffer.from(bytes));
  } catch (error) {
    throw error instanceof NotTaken ? new Problem(415, 'unsupported_type', error.message) : error;
  }
}

/** The logo routes, below /api/web. */
export function logoRoutes(services: Services) {
  /** Throws 404 when the person does not see the brokerage, and 403 unless they are one of its admins. */
  async function checkAdmin(c: Context, brokerageId: string): Promise<void> {
    const [brokerage] = await asPerson(services, c, brokerageOfCaller(brokerageId));
    if (!brokerage) throw nothingThere();
    if (brokerage.role !== 'admin') throw notAllowed();
  }

  return new Hono()
    .get('/brokerages/:id/logo', async (c) => {
      const [found] = await asPerson(services, c, logoOf(pathId(c)));
      const logo = orNotFound(found);
      // The file is sandboxed and can only be displayed as a picture, even when its URL is opened directly.
      c.header('Content-Security-Policy', sandboxPolicy);
      c.header('Content-Disposition', `inline; filename="${logoFileName(logo)}"`);
      return c.body(new Uint8Array(logo.picture), 200, { 'Content-Type': logo.media_type });
    })

    .post('/brokerages/:id/logo', async (c) => {
      const brokerageId = pathId(c);
      await checkAdmin(c, brokerageId);
      const { mediaType, width, height, bytes } = await uploaded(c);
      const logo = { media_type: mediaType, width, height, picture: bytes };
      const [, brokerage] = await asPerson(
        services,
        c,
        keepLogo(brokerageId, logo, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      return c.json(orNotFound(brokerage));
    })

    .delete('/brokerages/:id/logo', async (c) => {
      const brokerageId = pathId(c);
      await checkAdmin(c, brokerageId);
      const [, brokerage] = await asPerson(
        services,
        c,
        removeLogo(brokerageId, originOf(c)),
        brokerageOfCaller(brokerageId),
      );
      return c.json(orNotFound(brokerage));
    });
}
