/** The layout of every mail: a few short paragraphs, a button, and why it was sent; as plain text and as HTML. */

import { logoFileName } from '../domain/people/logos.ts';
import { withoutDirections } from '../domain/people/names.ts';
import { html, Html } from '../http/html.ts';
import type { MailPicture } from './transport.ts';

export interface Letter {
  /** The sender's name, a brokerage or Dealkeep, at the top and in the footer. */
  readonly brand: string;
  readonly subject: string;
  /** Name in the greeting; null for a greeting without a name. */
  readonly name: string | null;
  readonly paragraphs: readonly string[];
  /** The action for the reader: a button in HTML, and in plain text a link on a line of its own. */
  readonly action?: { readonly label: string; readonly url: string };
  /** Several events, such as those of a day, each group under a heading. */
  readonly sections?: readonly LetterSection[];
  /** Paragraphs after the button. */
  readonly notes?: readonly string[];
  /** Why the reader gets this mail, and how to unsubscribe. */
  readonly footer: readonly (string | { readonly label: string; readonly url: string })[];
  /** The logo of the brokerage, above its name where pictures are shown. */
  readonly logo?: LetterLogo | null;
  /** Addresses in the text that stay as they are: nobody else wrote them. */
  readonly exact?: readonly string[];
  /** The address to which the reader may reply; null: that of all mails. */
  readonly replyTo?: string | null;
  /** Further headers, such as List-Unsubscribe. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A picture sent with the mail, so that nothing is loaded to show it. */
export interface LetterLogo {
  readonly mediaType: string;
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  readonly content: Buffer;
}

export interface LetterSection {
  readonly heading: string;
  readonly items: readonly { readonly text: string; readonly url?: string }[];
}

/** A letter ready to be sent. */
interface Rendered {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly replyTo: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly pictures: readonly MailPicture[];
}

/**
 * Separates what mail programs would make a link of, or decode in a subject, without a visible difference: a name such
 * as "Your mailbox is full: https://…" must not lead anywhere. The separator is a zero-width non-joiner.
 */
const withoutLinks = (text: string): string =>
  text
    .replaceAll(/:(?=\/\/)|\bwww(?=\.)|[.\u3002\uff0e\uff61](?=\p{L})/giu, '$&\u200c')
    // An encoded word of a subject (RFC 2047).
    .replaceAll('=?', '=\u200c?');

function withoutLinksBut(text: string, [first, ...others]: readonly string[]): string {
  if (first === undefined) return withoutLinks(text);
  return text
    .split(first)
    .map((part) => withoutLinksBut(part, others))
    .join(first);
}

/**
 * Returns a function that returns one line, without control characters, characters that change the text direction, and
 * links: names and titles are written by strangers.
 */
const linesOf =
  ({ exact = [] }: Letter) =>
  (text: string): string =>
    withoutLinksBut(withoutDirections(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')).trim(), exact);

type Line = ReturnType<typeof linesOf>;

const hello = (name: string | null, line: Line): string => (name === null ? 'Hello,' : `Hello ${line(name)},`);

function plain(letter: Letter): string {
  const { brand, name, paragraphs, action, sections = [], notes = [], footer } = letter;
  const line = linesOf(letter);
  const parts = [hello(name, line), ...paragraphs.map(line)];
  for (const { heading, items } of sections) {
    const listed = items.map(({ text, url }) => `- ${line(text)}${url === undefined ? '' : `\n  ${url}`}`);
    parts.push([line(heading), ...listed].join('\n'));
  }
  if (action) parts.push(`${line(action.label)}:\n${action.url}`);
  parts.push(...notes.map(line));
  const small = footer.map((one) => (typeof one === 'string' ? line(one) : `${line(one.label)}: ${one.url}`));
  return `${parts.join('\n\n')}\n\n-- \n${[line(brand), ...small].join('\n')}\n`;
}

// The application's colours (tokens.css). Light ones are inline, since some mail programs drop style sheets; dark ones
// are in the style sheet.
const light = {
  paper: '#f6f5f1',
  surface: '#ffffff',
  line: '#e3e0d9',
  ink: '#191d1b',
  faint: '#646c68',
  accent: '#0e5a4a',
};
const sheet = new Html(`
    :root { color-scheme: light dark; supported-color-schemes: light dark; }
    @media (prefers-color-scheme: dark) {
      .paper { background: #0f1312 !important; }
      .surface { background: #171c1a !important; border-color: #2a312e !important; }
      .ink, .ink a { color: #edf1ef !important; }
      .faint, .faint a { color: #98a29d !important; }
      .ink a.link { color: #6fceb1 !important; }
      .button { background: #6fceb1 !important; }
      .button a { color: #06241c !important; }
    }
  `);
const font = `font-family: -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif`;

const logoId = 'logo@dealkeep';

/** The largest size at which a logo is shown, in pixels. */
const mostShown = { width: 240, height: 64 } as const;

/** The logo on a light background of its own: logos are designed for one, and could be invisible on a dark one. */
function shownLogo({ width, height }: LetterLogo) {
  const scale = Math.min(1, mostShown.width / width, mostShown.height / height);
  const shown = (side: number) => String(Math.max(1, Math.round(side * scale)));
  return html`<tr>
    <td style="padding: 0 4px 12px;">
      <table role="presentation" cellpadding="0" cellspacing="0">
        <tr>
          <td style="padding: 8px 10px; background: ${light.surface}; border-radius: 8px; line-height: 0;">
            <img
              src="cid:${logoId}"
              alt=""
              width="${shown(width)}"
              height="${shown(height)}"
              style="display: block; border: 0;"
            />
          </td>
        </tr>
      </table>
    </td>
  </tr>`;
}

function marked(letter: Letter): string {
  const { brand, subject, name, paragraphs, action, sections = [], notes = [], footer, logo } = letter;
  const line = linesOf(letter);
  const paragraph = (text: string) =>
    html`<p class="ink" style="margin: 0 0 16px; color: ${light.ink};">${line(text)}</p>`;
  const item = ({ text, url }: LetterSection['items'][number]) =>
    html`<li class="ink" style="margin: 0 0 6px; color: ${light.ink};">
      ${
        url === undefined
          ? line(text)
          : html`<a class="link" href="${url}" style="color: ${light.accent};">${line(text)}</a>`
      }
    </li>`;
  const section = ({ heading, items }: LetterSection) =>
    html`<h2 class="ink" style="margin: 24px 0 8px; font-size: 16px; color: ${light.ink};">${line(heading)}</h2>
      <ul style="margin: 0 0 16px; padding-left: 20px;">
        ${items.map(item)}
      </ul>`;
  const button = action
    ? html`<table role="presentation" cellpadding="0" cellspacing="0" style="margin: 8px 0 24px;">
        <tr>
          <td class="button" style="background: ${light.accent}; border-radius: 6px;">
            <a
              href="${action.url}"
              style="display: inline-block; padding: 12px 20px; font-weight: 600; color: #ffffff; text-decoration: none;"
              >${line(action.label)}</a
            >
          </td>
        </tr>
      </table>`
    : null;
  const small = (one: Letter['footer'][number]) =>
    typeof one === 'string'
      ? html`<div>${line(one)}</div>`
      : html`<div><a href="${one.url}" style="color: ${light.faint};">${line(one.label)}</a></div>`;
  // The table repeats the direction: mail programs drop that of the page, and in Hebrew or Arabic go from right to left.
  return html`<!doctype html>
    <html lang="en" dir="ltr">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <title>${line(subject)}</title>
        <style>
          ${sheet}
        </style>
      </head>
      <body class="paper" style="margin: 0; padding: 0; background: ${light.paper};">
        <table
          class="paper"
          dir="ltr"
          lang="en"
          role="presentation"
          width="100%"
          cellpadding="0"
          cellspacing="0"
          style="background: ${light.paper}; ${font}; font-size: 15px; line-height: 1.5;"
        >
          <tr>
            <td align="center" style="padding: 32px 16px;">
              <table
                role="presentation"
                width="100%"
                cellpadding="0"
                cellspacing="0"
                style="max-width: 560px; text-align: left;"
              >
                ${logo ? shownLogo(logo) : null}
                <tr>
                  <td
                    class="ink"
                    style="padding: 0 4px 16px; font-family: Georgia, 'Times New Roman', serif; font-size: 20px; font-weight: 600; color: ${light.ink}; overflow-wrap: anywhere;"
                  >
                    ${line(brand)}
                  </td>
                </tr>
                <tr>
                  <td
                    class="surface"
                    style="padding: 28px 28px 12px; background: ${light.surface}; border: 1px solid ${light.line}; border-radius: 10px; overflow-wrap: anywhere;"
                  >
                    ${[hello(name, line), ...paragraphs].map(paragraph)}${sections.map(section)}${button}${notes.map(paragraph)}
                  </td>
                </tr>
                <tr>
                  <td
                    class="faint"
                    style="padding: 16px 4px 0; font-size: 13px; color: ${light.faint}; overflow-wrap: anywhere;"
                  >
                    ${footer.map(small)}
                  </td>
                </tr>
              </table>
            </td>
          </tr>
        </table>
      </body>
    </html> `.text;
}

const pictureOf = ({ mediaType, content }: LetterLogo): MailPicture => ({
  cid: logoId,
  filename: logoFileName({ media_type: mediaType }),
  mediaType,
  content,
});

/**
 * Renders a letter in both forms. Any value in it may come from a stranger: none reaches a header or the markup
 * unchanged.
 */
export function render(letter: Letter): Rendered {
  return {
    subject: linesOf(letter)(letter.subject),
    text: plain(letter),
    html: marked(letter),
    replyTo: letter.replyTo ?? null,
    headers: letter.headers ?? {},
    pictures: letter.logo ? [pictureOf(letter.logo)] : [],
  };
}
