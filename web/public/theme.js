// Runs before the first paint, so that a page in the dark theme never flashes white.
(() => {
  let chosen = null;
  try {
    // Signing out clears the storage, and leaves the cookie.
    chosen = localStorage.getItem('dealkeep.theme') ?? /(?:^|; )dealkeep-theme=(dark|light)/.exec(document.cookie)?.[1];
  } catch {
    // Storage is switched off: the system's theme it is.
  }
  const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  document.querySelector('meta[name="theme-color"]').content = dark ? '#0f1312' : '#f6f5f1';
})();
