/**
 * Email addresses, by the same rule in every interface and the database (`app.is_email_address` is the rule in SQL).
 */

/**
 * Maximum number of characters of an address: the 256 of a path without its angle brackets (RFC 5321, section
 * 4.5.3.1.3).
 */
export const longestEmailAddress = 254;
const longestLocalPart = 64;

const dotString = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const quotedString = /^"(?:[^"\\]|\\.)*"$/;
const domain = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const byte = '(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])';
const ipv4 = `${byte}(?:\\.${byte}){3}`;
const ipv4Literal = new RegExp(`^\\[${ipv4}\\]$`);
const ipv4AtEnd = new RegExp(`:${ipv4}$`);
const ipv6Whole = /^[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){7}$/;
const ipv6Shortened =
  /^(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})?::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})?$/;

function isIpv6Literal(text: string): boolean {
  if (!/^\[ipv6:.*\]$/i.test(text)) return false;
  // An IPv4 address at the end stands for two groups.
  const address = text.slice(6, -1).replace(ipv4AtEnd, () => ':0:0');
  if (ipv6Whole.test(address)) return true;
  return ipv6Shortened.test(address) && address.split(/:+/).filter(Boolean).length <= 6;
}

/**
 * Whether `text` is a Mailbox of RFC 5321 (sections 4.1.2 and 4.1.3) in ASCII, whose domain is fully qualified (section
 * 2.3.5), with a dot, or an IPv4 or IPv6 address in brackets. Takes time proportional to its length.
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > longestEmailAddress || /[^ -~]/.test(text)) return false;
  const at = text.lastIndexOf('@');
  if (at < 1 || at > longestLocalPart) return false;
  const local = text.slice(0, at);
  const host = text.slice(at + 1);
  if (!dotString.test(local) && !quotedString.test(local)) return false;
  return domain.test(host) || ipv4Literal.test(host) || isIpv6Literal(host);
}
