"""What can go wrong with a gateway's own host. Each adapter has errors of its own below this one.

HostError
 +- NftError            the kernel or the library refused rules
 |   +- NftMissing      there is no library
 |   +- NftGone         what was to be changed is not there
 +- KeepalivedError     VRRP is not as it should be
 +- AdvertsError        nobody can be heard on an interface
 +- DiskError           a file cannot be written or read
 +- JournalDamaged      what was written is not what is read
 +- Locked              another agent has the folder
 +- SettingError        a setting of the kernel cannot be set
 +- NetlinkError        the kernel does not say which addresses or connections it has
"""


class HostError(Exception):
    """The host did not do what it was told. The text says what, why and, where it is known, what to do."""
