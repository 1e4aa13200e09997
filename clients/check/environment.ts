/** What programs of others are given of this process's environment: what they need to run, and nothing that was put there for something else, such as tokens. */

/** Where programs, shells and temporary files are, how text is written, and which certificates are trusted besides. */
const ofPrograms =
  /^(?:PATH|PATHEXT|SHELL|COMSPEC|SYSTEMROOT|TMPDIR|TEMP|TMP|USER|LOGNAME|TERM|LANG|LC_\w+|TZ|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/i;
/** Where npm keeps its settings, where it installs from, and how it gets there. */
const ofNpm =
  /^(?:HOME|USERPROFILE|APPDATA|LOCALAPPDATA|(?:HTTPS?|NO)_PROXY|npm_config_(?:userconfig|globalconfig|registry|cache|cafile|strict_ssl|proxy|https_proxy|noproxy|offline|prefer_offline|fetch_\w+))$/i;

const named = (...names: readonly RegExp[]): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => names.some((which) => which.test(name))));

/** The environment of a program of others, whose home is a folder of its own. */
export const environmentAt = (home: string, settings: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  ...named(ofPrograms),
  HOME: home,
  USERPROFILE: home,
  ...settings,
});

/** The environment of npm, and so of what it runs to install. */
export const npmEnvironment = (): NodeJS.ProcessEnv => named(ofPrograms, ofNpm);
