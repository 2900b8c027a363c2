# refused at line 5
# Module 'R' has no attribute 'nothing' 
class R(nn.Module):
    def forward(self, x):
        return self.nothing

#> R()
